package release

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"time"
)

// entry is one file of an archive.
type entry struct {
	name       string
	data       []byte
	link       string // where it is a symbolic link: what it points at
	executable bool
}

func (e entry) mode() int64 {
	switch {
	case e.link != "":
		return 0o777
	case e.executable:
		return 0o755
	}
	return 0o644
}

// tarGz writes entries with a fixed owner and time.
func tarGz(w io.Writer, entries []entry, created time.Time) error {
	zw, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	tw := tar.NewWriter(zw)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: tar.TypeReg, Mode: e.mode(), Size: int64(len(e.data)), ModTime: created.UTC(), Format: tar.FormatUSTAR}
		if e.link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
		}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if _, err := tw.Write(e.data); err != nil {
			return err
		}
	}
	return errors.Join(tw.Close(), zw.Close())
}

// zipped writes entries with a fixed time; none of them is a link.
func zipped(w io.Writer, entries []entry, created time.Time) error {
	zw := zip.NewWriter(w)
	for _, e := range entries {
		f, err := zw.CreateHeader(&zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: created.UTC()})
		if err != nil {
			return err
		}
		if _, err := f.Write(e.data); err != nil {
			return err
		}
	}
	return zw.Close()
}
