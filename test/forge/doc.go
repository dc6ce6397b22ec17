// Package forge runs fleets against a real forge, Gitea: protected branches and
// tags, every style of merge, branches that are deleted after it. Gitea comes from
// no package of a distribution, so that its tests run where somebody built it:
// make forge does. Elsewhere they skip, and say so.
package forge
