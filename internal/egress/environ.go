package egress

// Environ returns the variables by which clients find the proxy at addr (host:port, inside the
// namespace): HTTP_PROXY and its like, and what makes Node's fetch look at them. Loopback
// stays inside. ALL_PROXY is left out: Python's httpx fails at once if it names a SOCKS proxy
// and a further package is missing; clients that speak SOCKS5 are given addr.
func Environ(addr string) []string {
	url := "http://" + addr
	const inside = "localhost,127.0.0.1,::1"
	return []string{
		"HTTP_PROXY=" + url, "http_proxy=" + url,
		"HTTPS_PROXY=" + url, "https_proxy=" + url,
		"NO_PROXY=" + inside, "no_proxy=" + inside,
		"NODE_USE_ENV_PROXY=1",
	}
}
