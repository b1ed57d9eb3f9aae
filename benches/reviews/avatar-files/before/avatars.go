// Package avatars keeps the pictures of users.
package avatars

// Folder is where the pictures are.
type Folder struct {
	root string
}

// NewFolder returns the folder at a path.
func NewFolder(root string) *Folder {
	return &Folder{root: root}
}
