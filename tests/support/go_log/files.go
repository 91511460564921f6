package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

const (
	height = 8
	width  = 1 << height
)

// The tiles and bundles of a log by their C2SP paths. sumdb reads tiles from it, and checks them against the root.
type files map[string][]byte

func (all files) Height() int                     { return height }
func (all files) SaveTiles([]tlog.Tile, [][]byte) {}
func (all files) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	read := make([][]byte, len(tiles))
	for at, tile := range tiles {
		data, found := all[pathOf(tile)]
		if !found {
			return nil, fmt.Errorf("there is no %s", pathOf(tile))
		}
		read[at] = data
	}
	return read, nil
}

// There are all tiles and bundles of the tree, no others, and each is as the root has it.
func (all files) check(tree tlog.Tree) error {
	reader := tlog.TileHashReader(tree, all)
	expected := 0
	for _, tile := range tilesOf(tree.N) {
		data, err := tlog.ReadTileData(tile, reader)
		if err != nil {
			return err
		}
		if !bytes.Equal(data, all[pathOf(tile)]) {
			return fmt.Errorf("%s differs", pathOf(tile))
		}
		expected++
		if tile.L > 0 {
			continue
		}
		expected++
		rest := all[bundlePathOf(tile)]
		for ; len(data) > 0; data = data[tlog.HashSize:] {
			if len(rest) < 2 || len(rest) < 2+int(binary.BigEndian.Uint16(rest)) {
				return fmt.Errorf("%s is too short", bundlePathOf(tile))
			}
			end := 2 + int(binary.BigEndian.Uint16(rest))
			if hash := tlog.RecordHash(rest[2:end]); !bytes.Equal(hash[:], data[:tlog.HashSize]) {
				return fmt.Errorf("an entry of %s is another", bundlePathOf(tile))
			}
			rest = rest[end:]
		}
		if len(rest) > 0 {
			return fmt.Errorf("%s is too long", bundlePathOf(tile))
		}
	}
	if expected != len(all) {
		return fmt.Errorf("there are %d files, not %d", len(all), expected)
	}
	return nil
}

// The tiles of a tree. sumdb also lists every narrower one that a partial tile has been.
func tilesOf(size int64) (tiles []tlog.Tile) {
	for _, tile := range tlog.NewTiles(height, 0, size) {
		if last := len(tiles) - 1; last >= 0 && tiles[last].L == tile.L && tiles[last].N == tile.N {
			tiles = tiles[:last]
		}
		tiles = append(tiles, tile)
	}
	return tiles
}

func joinEntries(entries [][]byte) (bundle []byte) {
	for _, entry := range entries {
		bundle = append(bundle, byte(len(entry)>>8), byte(len(entry)))
		bundle = append(bundle, entry...)
	}
	return bundle
}

// C2SP leaves out the height, which sumdb writes.
func pathOf(tile tlog.Tile) string {
	return strings.Replace(tile.Path(), fmt.Sprintf("tile/%d/", height), "tile/", 1)
}

func bundlePathOf(tile tlog.Tile) string {
	return strings.Replace(pathOf(tile), "tile/0/", "tile/entries/", 1)
}
