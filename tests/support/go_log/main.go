// Logs over golang.org/x/mod/sumdb, the reference implementation of signed notes and tiled trees by the authors of Go.
//
// "verify" reads a list of logs and says of each what is wrong with it; "make" reads what a log shall have and makes it.
// Ours is only what sumdb has not: the text of a checkpoint, bundles of entries, the paths of C2SP, and cosignatures.
package main

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type inclusion struct {
	Index int64            `json:"index"`
	Entry []byte           `json:"entry"`
	Proof tlog.RecordProof `json:"proof"`
}

type consistency struct {
	Size  int64          `json:"size"`
	Root  tlog.Hash      `json:"root"`
	Proof tlog.TreeProof `json:"proof"`
}

// A log as anybody sees it. All keys must have signed its note.
type document struct {
	Keys          []string      `json:"keys"`
	Note          string        `json:"note"`
	Files         files         `json:"files"`
	Inclusions    []inclusion   `json:"inclusions"`
	Consistencies []consistency `json:"consistencies"`
}

// What a log shall have: the secrets of a log and a witness, its entries, and the places and sizes to prove.
type order struct {
	Log     string   `json:"log"`
	Witness string   `json:"witness"`
	Time    uint64   `json:"time"`
	Entries [][]byte `json:"entries"`
	Indexes []int64  `json:"indexes"`
	Sizes   []int64  `json:"sizes"`
}

func main() {
	var err error
	switch os.Args[1] {
	case "verify":
		var given []json.RawMessage
		if err = json.NewDecoder(os.Stdin).Decode(&given); err == nil {
			verdicts := make([]string, len(given))
			for at, each := range given {
				if wrong := verify(each); wrong != nil {
					verdicts[at] = wrong.Error()
				}
			}
			err = json.NewEncoder(os.Stdout).Encode(verdicts)
		}
	case "make":
		var wanted order
		if err = json.NewDecoder(os.Stdin).Decode(&wanted); err == nil {
			var made *document
			if made, err = build(&wanted); err == nil {
				err = json.NewEncoder(os.Stdout).Encode(made)
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func verify(raw json.RawMessage) error {
	var doc document
	if err := json.Unmarshal(raw, &doc); err != nil {
		return err
	}
	var known []note.Verifier
	for _, vkey := range doc.Keys {
		verifier, err := readVerifier(vkey)
		if err != nil {
			return err
		}
		known = append(known, verifier)
	}
	opened, err := note.Open([]byte(doc.Note), note.VerifierList(known...))
	if err != nil {
		return err
	}
	if len(opened.Sigs) != len(known) {
		return fmt.Errorf("%d of %d keys have signed", len(opened.Sigs), len(known))
	}
	if doc.Files == nil { // a note without its log
		return nil
	}
	tree, err := readCheckpoint(opened.Text)
	if err != nil {
		return err
	}
	if err := doc.Files.check(tree); err != nil {
		return err
	}
	for _, each := range doc.Inclusions {
		if err := tlog.CheckRecord(each.Proof, tree.N, tree.Hash, each.Index, tlog.RecordHash(each.Entry)); err != nil {
			return err
		}
	}
	for _, each := range doc.Consistencies {
		if err := tlog.CheckTree(each.Proof, tree.N, tree.Hash, each.Size, each.Root); err != nil {
			return err
		}
	}
	return nil
}

func build(wanted *order) (*document, error) {
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		hashes := make([]tlog.Hash, len(indexes))
		for at, index := range indexes {
			hashes[at] = stored[index]
		}
		return hashes, nil
	})
	for at, entry := range wanted.Entries {
		hashes, err := tlog.StoredHashes(int64(at), entry, reader)
		if err != nil {
			return nil, err
		}
		stored = append(stored, hashes...)
	}
	size := int64(len(wanted.Entries))
	root, err := tlog.TreeHash(size, reader)
	if err != nil {
		return nil, err
	}
	doc := &document{Files: files{}, Inclusions: []inclusion{}, Consistencies: []consistency{}}
	if err := doc.sign(wanted, tlog.Tree{N: size, Hash: root}); err != nil {
		return nil, err
	}
	for _, tile := range tilesOf(size) {
		if doc.Files[pathOf(tile)], err = tlog.ReadTileData(tile, reader); err != nil {
			return nil, err
		}
		if tile.L == 0 {
			first := tile.N * width
			doc.Files[bundlePathOf(tile)] = joinEntries(wanted.Entries[first : first+int64(tile.W)])
		}
	}
	for _, index := range wanted.Indexes {
		proof, err := tlog.ProveRecord(size, index, reader)
		if err != nil {
			return nil, err
		}
		doc.Inclusions = append(doc.Inclusions, inclusion{index, wanted.Entries[index], append(tlog.RecordProof{}, proof...)})
	}
	for _, old := range wanted.Sizes {
		oldRoot, err := tlog.TreeHash(old, reader)
		if err != nil {
			return nil, err
		}
		proof, err := tlog.ProveTree(size, old, reader)
		if err != nil {
			return nil, err
		}
		doc.Consistencies = append(doc.Consistencies, consistency{old, oldRoot, append(tlog.TreeProof{}, proof...)})
	}
	return doc, nil
}

func (doc *document) sign(wanted *order, tree tlog.Tree) error {
	signer, err := note.NewSigner(wanted.Log)
	if err != nil {
		return err
	}
	_, seed, err := splitKey(strings.TrimPrefix(wanted.Log, "PRIVATE+KEY+"))
	if err != nil {
		return err
	}
	vkey, err := note.NewEd25519VerifierKey(signer.Name(), ed25519.NewKeyFromSeed(seed[1:]).Public().(ed25519.PublicKey))
	if err != nil {
		return err
	}
	name, seed, err := splitKey(strings.TrimPrefix(wanted.Witness, "PRIVATE+KEY+"))
	if err != nil {
		return err
	}
	private := ed25519.NewKeyFromSeed(seed[1:])
	witness := &cosigner{name, private.Public().(ed25519.PublicKey), private, wanted.Time}
	text := fmt.Sprintf("%s\n%d\n%s\n", signer.Name(), tree.N, tree.Hash)
	signed, err := note.Sign(&note.Note{Text: text}, signer, witness)
	if err != nil {
		return err
	}
	doc.Keys, doc.Note = []string{vkey, witness.vkey()}, string(signed)
	return nil
}

func readCheckpoint(text string) (tree tlog.Tree, err error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 4 {
		return tree, errors.New("a checkpoint has three lines")
	}
	if tree.N, err = strconv.ParseInt(lines[1], 10, 64); err != nil {
		return tree, err
	}
	tree.Hash, err = tlog.ParseHash(lines[2])
	return tree, err
}
