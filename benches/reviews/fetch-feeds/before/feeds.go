// Package feeds reads the news of others.
package feeds

const maxSize = 1 << 20
