package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// offered are tools as services offer them, a line each: the name, and the description.
const offered = `
weather.get_forecast Returns the forecast of a place for the next days.
weather.get_alerts Lists warnings of storms for a region.
maps.directions Computes the route between two places, with its distance and duration.
maps.search_places Finds places by name or category near a location.
maps.geocode Converts an address into coordinates.
browser.take_screenshot Takes a screenshot of the page.
browser.navigate Opens a URL in the browser.
browser.click Clicks an element. Waits until it can take a click.
kubernetes.rollback_deployment Rolls a deployment to its previous revision.
kubernetes.get_deployment Returns a deployment, with the last error and its status.
kubernetes.list_pods Lists the pods of a namespace.
kubernetes.delete_pod Deletes a pod.
language.translate_text Converts a text from one language to another.
language.detect Detects the language of a text.
text.convert_case Converts text to upper or lower case.
calendar.create_event Creates an event with a start, an end and guests.
calendar.list_events Lists the events of a day.
calendar.delete_event Deletes an event.
cron.list_schedules Lists the schedules of jobs.
zoom.get_recording Returns the recording of a meeting.
github.create_pull_request Creates a pull request from a branch.
github.merge_pull_request Merges an open pull request.
github.close_pull_request Closes an open pull request without merging it.
github.list_pull_requests Lists the open pull requests of a repository.
github.get_pull_request Returns one pull request, open or closed.
github.update_pull_request Changes the title of an open pull request.
cloudflare.get_dns_record Returns a DNS record of a zone.
cloudflare.list_dns_records Lists the DNS records of a zone.
cloudflare.create_dns_record Adds a DNS record to a zone.
cloudflare.update_dns_record Overwrites a DNS record of a zone.
cloudflare.delete_dns_record Removes a DNS record from a zone. This cannot change other records.
`

// What people ask without the words of the tool that would do.
func TestQuestions(t *testing.T) {
	t.Parallel()
	var all []Tool
	for line := range strings.Lines(strings.TrimSpace(offered)) {
		name, description, _ := strings.Cut(line, " ")
		all = append(all, Tool{Definition: &tool.Definition{Name: name, Description: description}})
	}
	all = append(all, definitions(724)...)
	x := New(all)
	for _, q := range []struct {
		query, want string
		within      int
	}{
		{"will it rain tomorrow", "weather.get_forecast", 5},
		{"how long does it take to drive from Berlin to Hamburg", "maps.directions", 5},
		{"undo the last rollout", "kubernetes.rollback_deployment", 5},
		{"translate this to French", "language.translate_text", 5},
		{"schedule a meeting", "calendar.create_event", 5},
		{"open a pull request", ".create_pull_request", 1},
		{"change a DNS record", "cloudflare.update_dns_record", 1},
		{"take a screenshot", "browser.take_screenshot", 1},
	} {
		var names []string
		for _, i := range x.Find(q.query, q.within, func(int) bool { return true }) {
			names = append(names, all[i].Name)
		}
		if !slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, q.want) }) {
			t.Errorf("%q finds %v, and not %s", q.query, names, q.want)
		}
	}
}
