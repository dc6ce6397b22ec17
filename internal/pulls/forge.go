package pulls

import "context"

// Forge is what is asked of the forge of one repository.
type Forge interface {
	// Requests lists those from the repository's own branches to one: all that are
	// open, and of the others those that moved last. A request from somebody's copy of
	// the repository has a branch of theirs, whatever that is called.
	Requests(ctx context.Context, base string) ([]Open, error)
	// Older lists closed ones that Requests leaves out, for others moved since: those of 20
	// pages. Some may be in both.
	Older(ctx context.Context, base string) ([]Open, error)
	// Open opens a request, or gives the open one that is there already;
	// ErrNothing says that a branch has nothing that is not on the other.
	Open(ctx context.Context, base, branch string, c Content) (Open, error)
	// Update says anew what a request is about. Whether it is a draft stays.
	Update(ctx context.Context, o Open, title, body string) error
	// AutoMerge has the forge merge a request by itself, in a style, once its own rules
	// are met: at once where they are. The style is v1alpha1.AutoMerge*.
	AutoMerge(ctx context.Context, o Open, style string) error
	// Close closes a request with a text, and says why.
	Close(ctx context.Context, number int, body, why string) error
	// Status sets a check of a commit, where it does not say that already: forges keep
	// every one that is set, and count it.
	Status(ctx context.Context, commit string, s Status) error
}
