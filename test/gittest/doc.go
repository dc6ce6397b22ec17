// Package gittest gives tests real Git: bare repositories made by the git
// program, and a real Git HTTP server (git http-backend) with faults to order.
//
//	repo := gittest.NewRepo(t)
//	v1 := repo.Commit(t, "main", "add base-ns", gittest.Text{"base-ns/Kptfile": kptfile})
//	repo.Tag(t, "base-ns/v1", v1)
//
//	srv := gittest.NewServer(t)
//	fleet := srv.NewRepo(t, "fleet")
//	srv.DropPushAfter(1000) // the next push dies after 1,000 body bytes
//	url := srv.RepoURL("fleet")
//
// Tests skip, and say so, where there is no git program.
package gittest
