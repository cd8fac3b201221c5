package kafka

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/internal/errcode"
	"microbatch/internal/kafkaclient"
	"microbatch/internal/secret"
	"microbatch/sources"
)

const canary = "canary-5ecret"

func TestPasswordsOverPlainTextAreRefusedUnlessInsecure(t *testing.T) {
	config := Config{Brokers: []string{"b:9092"}, Topics: []string{"t"}, Format: newKit(t).config().Format,
		SASL: &SASL{Mechanism: "PLAIN", User: "u", Password: secret.Of(canary)}}
	_, err := New(config)
	if !errcode.Has(err, errcode.KafkaInsecureAuth) {
		t.Error(err)
	}
	config.Insecure = true
	if _, err := New(config); err != nil {
		t.Error(err)
	}
	config.Insecure, config.SASL.Mechanism = false, "SCRAM-SHA-512"
	if _, err := New(config); err != nil {
		t.Error(err)
	}
}

func TestLoginsAreAcceptedAndRefused(t *testing.T) {
	for _, mechanism := range kafkaclient.Mechanisms() {
		k := newKit(t, kfake.EnableSASL(), kfake.Superuser(mechanism, "reader", canary), kfake.SeedTopics(1, "orders"))
		config := k.config("orders")
		config.Insecure = true
		config.SASL = &SASL{Mechanism: mechanism, User: "reader", Password: secret.Of(canary)}
		s := k.open(config)
		k.plan(s, "", 0)
		k.rewrite(kmsg.SASLAuthenticate, 1000, func(req kmsg.Request) kmsg.Response { // the fake broker just hangs up where a real one says why
			resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
			resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
			return resp
		})
		began := time.Now()
		err := k.new(config).Open(t.Context(), k.own)
		if !errcode.Has(err, errcode.KafkaAuthFailed) || errcode.ClassOf(err) != errcode.Config {
			t.Errorf("%s: %v", mechanism, err)
		}
		if Contains(err, canary) || bytes.Contains(fmt.Appendf(nil, "%v %+v %#v", config, config, s.Describe()), []byte(canary)) {
			t.Errorf("%s: the password is printed", mechanism)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%s: a refused login was repeated for %s", mechanism, took)
		}
	}
}

func TestATopicThatMayNotBeReadIsAConfigurationError(t *testing.T) {
	acl := kfake.ACL{Resource: kmsg.ACLResourceTypeTopic, Name: "orders", Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: kmsg.ACLOperationDescribe, Allow: true}
	k := newKit(t, kfake.EnableSASL(), kfake.EnableACLs(), kfake.User("SCRAM-SHA-256", "reader", canary, acl), kfake.SeedTopics(1, "orders"))
	config := k.config("orders")
	config.SASL = &SASL{Mechanism: "SCRAM-SHA-256", User: "reader", Password: secret.Of(canary)}
	s := k.open(config)
	p, err := s.Plan(t.Context(), "", sources.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	p.To = `{"orders":{"0":5}}`
	if _, err := k.tryRead(t.Context(), s, "", p); !errcode.Has(err, errcode.KafkaNotAuthorized) || !Contains(err, "orders-0") {
		t.Error(err)
	}
	config.Topics = []string{"payments"}
	if err := k.new(config).Open(t.Context(), k.own); !errcode.Has(err, errcode.KafkaNotAuthorized) && !errcode.Has(err, errcode.KafkaTopicMissing) {
		t.Error(err)
	}
}

func TestBrokersAreRecognisedByTheirCertificate(t *testing.T) {
	dir := t.TempDir()
	ca, pair := certificate(t, dir, "a")
	other, _ := certificate(t, dir, "b")
	k := newTLSKit(t, pair)
	config := k.config("orders")
	config.TLS = &TLS{CA: ca}
	k.plan(k.open(config), "", 0)
	config.TLS = &TLS{CA: other}
	if err := k.new(config).Open(t.Context(), k.own); !errcode.Has(err, errcode.KafkaAuthFailed) {
		t.Errorf("unknown authority: %v", err)
	}
	config.TLS = &TLS{CA: ca, ServerName: "elsewhere"}
	if err := k.new(config).Open(t.Context(), k.own); !errcode.Has(err, errcode.KafkaAuthFailed) {
		t.Errorf("other host: %v", err)
	}
	config.TLS = &TLS{CA: filepath.Join(dir, "missing")}
	if err := k.new(config).Open(t.Context(), k.own); !errcode.Has(err, errcode.KafkaAuthFailed) || !Contains(err, "tls.ca") {
		t.Errorf("missing file: %v", err)
	}
}

func newTLSKit(t *testing.T, pair tls.Certificate) *kit {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}}), kfake.SeedTopics(1, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	k := newKit(t)
	k.Cluster, k.addrs = c, c.ListenAddrs()
	return k
}

func certificate(t *testing.T, dir, name string) (ca string, pair tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	ca = filepath.Join(dir, name+".pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return ca, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
