package uploads

import "context"

// Store keeps files.
type Store interface {
	Put(ctx context.Context, name string, data []byte) error
}

// Uploader puts files into a store.
type Uploader struct {
	store Store
}

// Upload stores one file.
func (u *Uploader) Upload(ctx context.Context, name string, data []byte) error {
	return u.store.Put(ctx, name, data)
}
