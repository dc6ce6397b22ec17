// Package images runs the functions' real images with the real engine: they are
// built as `make images` does, loaded into podman, and run by kpt and by
// variform. What they answer is compared with the same functions as programs and
// in process.
package images
