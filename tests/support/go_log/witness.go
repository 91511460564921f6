package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

const (
	plain       = 1
	cosignature = 4
)

// A witness: a cosignature of C2SP is a note's signature over another text, with a time before it.
type cosigner struct {
	name    string
	public  ed25519.PublicKey
	private ed25519.PrivateKey
	time    uint64
}

func (key *cosigner) material() []byte { return append([]byte{cosignature}, key.public...) }
func (key *cosigner) Name() string     { return key.name }
func (key *cosigner) KeyHash() uint32 {
	hash := sha256.Sum256(append([]byte(key.name+"\n"), key.material()...))
	return binary.BigEndian.Uint32(hash[:])
}
func (key *cosigner) vkey() string {
	return fmt.Sprintf("%s+%08x+%s", key.name, key.KeyHash(), base64.StdEncoding.EncodeToString(key.material()))
}
func (key *cosigner) Verify(text, signature []byte) bool {
	return len(signature) == 8+ed25519.SignatureSize &&
		ed25519.Verify(key.public, cosigned(binary.BigEndian.Uint64(signature), text), signature[8:])
}
func (key *cosigner) Sign(text []byte) ([]byte, error) {
	time := make([]byte, 8)
	binary.BigEndian.PutUint64(time, key.time)
	return append(time, ed25519.Sign(key.private, cosigned(key.time, text))...), nil
}

func cosigned(time uint64, text []byte) []byte {
	return append([]byte(fmt.Sprintf("cosignature/v1\ntime %d\n", time)), text...)
}

func readVerifier(vkey string) (note.Verifier, error) {
	name, material, err := splitKey(vkey)
	if err != nil || material[0] == plain {
		return note.NewVerifier(vkey)
	}
	key := &cosigner{name: name, public: material[1:]}
	if material[0] != cosignature || len(key.public) != ed25519.PublicKeySize || key.vkey() != vkey {
		return nil, errors.New("not the key of a witness")
	}
	return key, nil
}

func splitKey(key string) (name string, material []byte, err error) {
	parts := strings.SplitN(key, "+", 3)
	if len(parts) != 3 {
		return "", nil, errors.New("a key has three parts")
	}
	material, err = base64.StdEncoding.DecodeString(parts[2])
	if err == nil && len(material) == 0 {
		err = errors.New("an empty key")
	}
	return parts[0], material, err
}
