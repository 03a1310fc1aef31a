package console

import (
	"context"
	"embed"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/crowd"
)

//go:embed page
var files embed.FS

// headers keep a page from everything but its own files and its daemon, and others from it. Trusted types have the
// browser refuse to make markup of text.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cross-Origin-Embedder-Policy": "require-corp",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
	"Cache-Control":                "no-store",
}

// types are those of the page's files: what the system says is not asked.
var types = map[string]string{
	"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml",
}

// maxLink bounds the body of the request that has a link.
const maxLink = 1 << 10

func (d *door) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { send(w, r, "index.html") })
	mux.HandleFunc("GET /p/{page}/{$}", func(w http.ResponseWriter, r *http.Request) { send(w, r, "index.html") })
	mux.HandleFunc("GET /files/{name}", func(w http.ResponseWriter, r *http.Request) { send(w, r, r.PathValue("name")) })
	mux.HandleFunc("POST /open", d.open)
	mux.HandleFunc("POST /p/{page}/close", d.inside(func(_ http.ResponseWriter, _ *http.Request, p *page) {
		d.console.mu.Lock()
		defer d.console.mu.Unlock()
		d.console.endPage(p)
	}))
	mux.HandleFunc("POST /p/{page}/{service}/{call}", d.inside(d.serve))
	return d.guard(mux)
}

func send(w http.ResponseWriter, r *http.Request, name string) {
	content, err := files.ReadFile("page/" + name)
	kind := types[name[strings.LastIndexByte(name, '.')+1:]]
	if err != nil || kind == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(content)
}

// guard refuses what is not a request of the page itself, before anything of it is read.
func (d *door) guard(next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(d.address)
	hosts := []string{d.address, "localhost:" + port, "[::1]:" + port}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		switch {
		case !slices.Contains(hosts, r.Host): // a name of a stranger's that leads here
			refuse(w, http.StatusMisdirectedRequest, "the console has no such Host")
		case r.URL.RawQuery != "" || r.URL.ForceQuery:
			refuse(w, http.StatusBadRequest, "nothing is taken from the query of a URL, which ends up in logs")
		case !own(r):
			refuse(w, http.StatusForbidden, "only the console's own page may send this")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// own reports whether the console's page sends a request, or a person opens it. A page cannot send what it has to
// send without its server's leave, if that is elsewhere.
func own(r *http.Request) bool {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Values("Origin")
	if r.Method == http.MethodGet {
		opened := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
		return len(origin) == 0 && (site == "" || site == "none" || site == "same-origin" || opened) ||
			len(origin) == 1 && origin[0] == "http://"+r.Host
	}
	kind := r.Header.Get("Content-Type")
	return r.Method == http.MethodPost && len(origin) == 1 && origin[0] == "http://"+r.Host && (site == "" || site == "same-origin") &&
		(kind == "application/json" || kind == "application/connect+json") && r.Header.Get("Connect-Protocol-Version") == "1"
}

// refuse answers as the API does.
func refuse(w http.ResponseWriter, status int, text string) {
	code := "permission_denied"
	if status == http.StatusUnauthorized {
		code = "unauthenticated"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": code, "message": text})
}

// open lets a browser in that has a link.
func (d *door) open(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(headerTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLink))
	var sent struct {
		Link string `json:"link"`
	}
	if err == nil {
		err = json.Unmarshal(body, &sent)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "this is not a link")
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	to, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	from, err := net.ResolveTCPAddr("tcp", r.RemoteAddr)
	if err != nil || to == nil {
		refuse(w, http.StatusForbidden, "the sender is not known")
		return
	}
	path, cookie, err := d.console.exchange(sent.Link, from, to)
	if err != nil {
		refuse(w, http.StatusForbidden, err.Error())
		return
	}
	path = "/p/" + path + "/"
	http.SetCookie(w, &http.Cookie{Name: d.cookie(), Value: cookie, Path: path, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"path": path})
}

// cookie is the name of those of this port.
func (d *door) cookie() string {
	_, port, _ := net.SplitHostPort(d.address)
	return "toolhost-console-" + port
}

// inside refuses requests without a page. Those of a page end with it, and count for their connection, which is
// closed for no other then.
func (d *door) inside(next func(http.ResponseWriter, *http.Request, *page)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p, done := d.console.enter(r.PathValue("page"), r.CookiesNamed(d.cookie()))
		if p == nil {
			refuse(w, http.StatusUnauthorized, "this page is over: toolhost console opens another")
			return
		}
		defer done()
		defer crowd.Use(r.Context())()
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(p.life, cancel)()
		next(w, r.WithContext(ctx), p)
	}
}

// serve passes on what pages may ask for.
func (d *door) serve(w http.ResponseWriter, r *http.Request, p *page) {
	r.URL.Path = "/" + r.PathValue("service") + "/" + r.PathValue("call")
	r.URL.RawPath = ""
	d.console.options.Serve(w, r, p.by)
}
