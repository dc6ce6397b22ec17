package review

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// minRange is how many names in a row are written as a range.
const minRange = 3

// Ranges writes names that differ in one number, one after the other, as one:
// c[1-300]/web. Where there are none the names stay as they are.
func Ranges(names []string) []string {
	type numbered struct {
		name   string
		parts  []string // texts and numbers in turns
		number int
	}
	kinds := map[string][]*numbered{} // by the name without its numbers
	var order []string
	for _, name := range names {
		n := &numbered{name: name, parts: turns(name)}
		kind := ""
		for i := 0; i < len(n.parts); i += 2 {
			kind += strconv.Quote(n.parts[i])
		}
		if kinds[kind] == nil {
			order = append(order, kind)
		}
		kinds[kind] = append(kinds[kind], n)
	}
	var out []string
	for _, kind := range order {
		list := kinds[kind]
		at := liveliest(len(list[0].parts), func(part int) int {
			different := map[string]bool{}
			for _, n := range list {
				different[n.parts[part]] = true
			}
			return len(different)
		})
		if at < 0 {
			for _, n := range list {
				out = append(out, n.name)
			}
			continue
		}
		around := map[string][]*numbered{} // by all but that number, and how wide it is
		var texts []string
		for _, n := range list {
			digits := n.parts[at]
			n.number, _ = strconv.Atoi(digits)
			width := 0
			if digits[0] == '0' {
				width = len(digits)
			}
			text := strconv.Quote(strings.Join(n.parts[:at], "")) + strconv.Quote(strings.Join(n.parts[at+1:], ""))
			if around[text+fmt.Sprint(len(digits))] != nil { // 08, 09, 10 go on
				width = len(digits)
			}
			if width > 0 {
				text += fmt.Sprint(width)
			}
			if around[text] == nil {
				texts = append(texts, text)
			}
			around[text] = append(around[text], n)
		}
		for _, text := range texts {
			same := around[text]
			slices.SortStableFunc(same, func(a, b *numbered) int { return cmp.Compare(a.number, b.number) })
			for i := 0; i < len(same); {
				end := i + 1
				for end < len(same) && same[end].number == same[end-1].number+1 {
					end++
				}
				if end-i < minRange {
					for ; i < end; i++ {
						out = append(out, same[i].name)
					}
					continue
				}
				first, last := same[i].parts, same[end-1].parts
				out = append(out, fmt.Sprintf("%s[%s-%s]%s", strings.Join(first[:at], ""), first[at], last[at], strings.Join(first[at+1:], "")))
				i = end
			}
		}
	}
	if len(out) == len(names) {
		return names
	}
	return out
}

// turns are a name's texts and numbers in turns; a number that is too long to count
// with is text.
func turns(name string) []string {
	out := []string{""}
	rest := name
	for rest != "" {
		start := strings.IndexFunc(rest, isDigit)
		if start < 0 {
			break
		}
		end := len(rest) - len(strings.TrimLeftFunc(rest[start:], isDigit))
		if end-start > maxDigits {
			out[len(out)-1] += rest[:end]
		} else {
			out[len(out)-1] += rest[:start]
			out = append(out, rest[start:end], "")
		}
		rest = rest[end:]
	}
	out[len(out)-1] += rest
	return out
}

// maxDigits is how long a number may be that counts.
const maxDigits = 9

// liveliest is the number of parts that has the most values, -1 for none.
func liveliest(parts int, values func(part int) int) int {
	best, most := -1, 1
	for i := 1; i < parts; i += 2 {
		if n := values(i); n > most {
			best, most = i, n
		}
	}
	return best
}
