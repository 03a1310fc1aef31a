// Package policy has the types with which an embedding program controls and
// observes calls: an [Approver] decides on calls, a [Rule] says which calls
// need approval, and [Hooks] are notified of calls.
package policy
