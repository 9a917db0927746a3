// Package powercut holds the power-cut test of the SQLite store and nothing
// else: it records with strace what a writer and a dispatcher write and sync,
// rebuilds the files as a power cut at any moment could have left them, and
// checks that no event was handed on whose transaction the rebuilt database
// lacks (promise 3 of docs/guarantees.md).
package powercut
