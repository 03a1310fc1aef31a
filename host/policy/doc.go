// Package policy is what an embedder says about calls: who approves them
// ([Approver]), which ones need an approval ([Rule]), and who is told of them
// ([Hooks]).
package policy
