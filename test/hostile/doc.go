// Package hostile runs the built command against servers that mean harm: they
// redirect, hang, trickle, cut short, answer empty, and send garbage and bombs.
// Whatever they do costs their own repositories, bounded memory and time, and no
// login goes anywhere but where it belongs.
package hostile
