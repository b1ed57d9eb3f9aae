package billing

import (
	"net/http"
	"time"
)

// Client calls the billing service.
type Client struct {
	http  *http.Client
	token string
}

// NewClient returns a client that signs in with the token.
func NewClient(token string) *Client {
	return &Client{http: &http.Client{Timeout: 10 * time.Second}, token: token}
}

// Get fetches a resource. The caller closes the body.
func (c *Client) Get(url string) (*http.Response, error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	return c.http.Do(request)
}
