package search

import (
	"strings"
	"sync"
)

// synonyms are the words, as [stem] has them, that a tool may have in place of a word of a query. They are made
// at the first search, as most programs never search.
var synonyms = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(alikes) {
		var group []string
		for w := range strings.FieldsSeq(line) {
			group = append(group, stem(w))
		}
		for _, w := range group {
			for _, other := range group {
				if other != w {
					out[w] = append(out[w], other)
				}
			}
		}
	}
	return out
})

// alikes are the groups, a line each: what people say, and what tools are called. A word may be in several.
const alikes = `
create add make new open insert generate start
update change edit modify set alter replace
delete remove drop erase clear
get read fetch retrieve show view display load
list enumerate show
find search locate lookup query
stop halt cancel kill terminate end
start run launch execute
move rename relocate
send post publish share
save store write record persist
undo revert rollback restore reset back
rollout deployment release deploy
combine merge join
connect link relation relationship
history log
directory folder
file document
item entry record row
repository repo
compare diff difference
error exception failure
picture image photo drawing
mail email
message chat
schedule calendar event appointment meeting
weather forecast rain snow temperature
drive route direction distance travel trip
translate language french spanish german english
price cost
buy purchase shop shopping order
job career
movie film
song music
recipe cook food meal
hotel accommodation stay
flight airline
doctor health medical
house home property
website webpage site web page url
video youtube
paper research article
summary summarize
money currency
stock share
`

// common are words that say nothing about a tool.
var common = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(fillers) {
		out[w], out[stem(w)] = true, true
	}
	return out
})

const fillers = `a all already am an and any are as at be been but by can could did do does for from give had has have how i if im
in into is it its just let long many may me much my need of on one or our please should so some take tell that the their them then
there these they this those to tool us use want was we were what when where which who why will with would you your`
