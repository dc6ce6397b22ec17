(() => {
  "use strict";
  const read = document.querySelector(".source time");
  if (read) {
    const hours = Math.floor((Date.now() - Date.parse(read.dateTime)) / 3600000);
    const [n, unit] = hours < 48 ? [hours, "hour"] : [Math.floor(hours / 24), "day"];
    if (n > 0) read.append(`, ${n} ${unit}${n === 1 ? "" : "s"} ago`);
  }

  const controls = document.getElementById("controls");
  if (!controls) return;
  const [q, show, open, shown] = ["q", "show", "open", "shown"].map((id) => document.getElementById(id));
  const classes = [...document.querySelectorAll("details.class")];
  const packages = [...document.querySelectorAll("section.package")];
  const text = new Map();

  // The names that c[1-300]/web stands for are found as well.
  const spelled = (s) => s.replace(/([^\s,]*)\[(\d+)-(\d+)\]([^\s,]*)/g, (all, before, from, to, after) => {
    const out = [all];
    for (let n = Number(from); n <= Number(to) && out.length < 100000; n++) {
      out.push(before + String(n).padStart(from[0] === "0" ? from.length : 0, "0") + after);
    }
    return out.join(" ");
  });
  const textOf = (c) => {
    if (!text.has(c)) text.set(c, spelled(c.textContent + " " + c.id).toLowerCase());
    return text.get(c);
  };

  const filter = () => {
    const words = q.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const c of classes) {
      const kind = !show.value || ("marked" in c.dataset) === (show.value === "marked");
      c.hidden = !(kind && words.every((w) => textOf(c).includes(w)));
      if (!c.hidden) n++;
    }
    for (const p of packages) p.hidden = !p.querySelector("details.class:not([hidden])");
    shown.value = n === classes.length ? "" : `${n} of ${classes.length} classes`;
  };
  const remember = () => {
    const state = new URLSearchParams();
    if (q.value) state.set("q", q.value);
    if (show.value) state.set("show", show.value);
    history.replaceState(null, "", "#" + state);
  };
  const recall = () => {
    const at = decodeURIComponent(location.hash.slice(1));
    const target = at.startsWith("c-") && document.getElementById(at);
    if (target) {
      if (target.hidden) {
        q.value = show.value = "";
        filter();
      }
      target.open = true;
      target.querySelector("summary").focus();
      target.scrollIntoView();
      return;
    }
    const state = new URLSearchParams(location.hash.slice(1));
    q.value = state.get("q") || "";
    show.value = state.get("show") || "";
    if (show.selectedIndex < 0) show.value = "";
    filter();
  };

  let wait = 0;
  q.addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(() => { filter(); remember(); }, 80);
  });
  show.addEventListener("change", () => { filter(); remember(); });
  controls.addEventListener("submit", (e) => e.preventDefault());
  open.addEventListener("click", () => {
    const all = classes.filter((c) => !c.hidden);
    const to = !all.every((c) => c.open);
    for (const c of all) c.open = to;
    open.textContent = to ? "Close all" : "Open all";
  });
  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && !/^(INPUT|SELECT)$/.test(e.target.tagName) && !e.ctrlKey && !e.metaKey && !e.altKey) {
      e.preventDefault();
      q.focus();
    } else if (e.key === "Escape" && e.target === q) {
      q.value = "";
      filter();
      remember();
    }
  });
  addEventListener("hashchange", recall);
  controls.hidden = false;
  recall();
})();
