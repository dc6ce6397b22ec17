// Package histories plays people, forges and releases against the command line,
// at random but repeatably, and judges what the repositories hold by plain Git
// and a model that shares no code with the product.
//
// A history is a small fleet and a list of steps (operations_test.go): releases,
// changes of sets and context, edits by hand on Drafts and on main, merges of all
// styles with and without their branch, decisions, reverts, holds and discards,
// update strategies, image automation, functions without a fixed point, records that
// are lost, set back, forged or written by a newer version, Drafts of an older one, targets that go and come
// back, runs that race or are killed; what befalls repositories, branches, tags, Drafts and
// caches (events.go); and somebody who writes Drafts and records in the machine's name (forge.go). After each command the promises of check_test.go
// are judged: tags never move, no edit is gone that nothing named, a second run
// changes nothing, and so on. What is not kept today stands in
// testdata/known.yaml, by promise and by what is seen; that list only shrinks.
// The package where a known violation happened is left alone for the rest of its
// history.
//
// Every fourth history has a server that gives out what refs name and no more,
// as git does over ssh. TestMutants (make histories-mutants) puts faults into a
// copy of the code, and each has to be found.
//
// A failing history is made small and printed; -script plays it again and says
// all that happens; those that found a defect stay in testdata/scripts. A step's numbers choose among what there is when it comes, so
// a history means something without some of its steps.
//
//	go test ./test/histories                                  # 100 of 15 steps, 10 over HTTP, 40 with requests
//	make histories HISTORIES=1000 STEPS=30                    # in memory
//	go test ./test/histories -run 'TestHistories$' -seed 7 -histories 1 -steps 30 -v
//	go test ./test/histories -run 'TestHistories$' -v -script FILE
//	go test ./test/histories -run 'TestTwoVersions$' -histories 100 -steps 30
//	cd cmd/variform-controller && go test ./controller -run 'TestHistories$' -people.histories 200
//
// TestHistoriesOfRequests plays them with pull requests that apply keeps, on a forge
// where people merge, close, reopen, retarget and rename them, commit to their heads
// and delete these (requests_test.go).
//
// A Twin brings fleets up to date by another door than the command's (PlayBy): the
// controller's tests play the same histories so, and hold it to the command's refs and
// pull requests and status. make controller says what they need; -people.histories says how many.
// TestHistoriesOnTwoMachines does so by the command on a machine with its own cache.
//
// TestTwoVersions plays them with a program of the next hydration version, which takes
// turns with this one.
//
// TestFleets compares all refs of fifty generated fleets, step by step, with
// testdata/fleets.txt; -update writes that file anew.
//
// TestUpgrade reads fleets that the programs of earlier releases created
// (testdata/upgrade). Save those of a new release before tagging it:
//
//	go test ./test/histories -run 'TestRecordRelease$' -record-release v0.9.0
package histories
