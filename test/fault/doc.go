// Package fault kills the command, the built one and for good (SIGKILL), at
// chosen bytes of its talk with a Git server and of what it writes to its cache,
// damages what is left, and lets several commands and people work on one fleet
// at once. What comes of it in the end must be what an undisturbed run gives.
//
// FAULT_POINTS is how many places it is killed at (25 when not set) and
// FAULT_ROUNDS how many rounds are raced (5); -short takes fewer.
package fault
