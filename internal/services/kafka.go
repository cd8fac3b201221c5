package services

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// KafkaOptions are what a test may want of its broker.
type KafkaOptions struct {
	Secure     bool              // a second listener with TLS and SCRAM-SHA-512
	Behind     string            // host:port of a proxy: one more plain listener, whose clients are sent there
	Properties map[string]string // further lines of server.properties
}

// KafkaBroker is a Kafka server of one node, controller included.
type KafkaBroker struct {
	*Running
	Addr string // host:port of the plain listener

	// ProxiedAddr is where the listener of KafkaOptions.Behind is: the proxy's target.
	ProxiedAddr string

	// Of the second listener; empty without KafkaOptions.Secure.
	SecureAddr     string
	CA             string // PEM file of the authority that signed the broker's certificate
	User, Password string
}

const kafkaVersion = "4.4.0"

//go:embed kafka/pom.xml
var kafkaPom []byte

//go:embed kafka/log4j2.properties
var kafkaLogging []byte

// Kafka runs a real broker until the test ends.
func Kafka(t testing.TB, o KafkaOptions) *KafkaBroker {
	t.Helper()
	k, err := LaunchKafka(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	})
	return k
}

// LaunchKafka runs a real broker until Stop, or until this process ends. Its jars come from Maven, once.
func LaunchKafka(o KafkaOptions) (*KafkaBroker, error) {
	jars, err := mavenJars("kafka-"+kafkaVersion, kafkaPom)
	if err != nil {
		return nil, fmt.Errorf("services: kafka's jars: %w", err)
	}
	dir, err := os.MkdirTemp("", "kafka-")
	if err != nil {
		return nil, err
	}
	k, err := launchKafka(dir, filepath.Join(jars, "*"), o)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return k, nil
}

func launchKafka(dir, classes string, o KafkaOptions) (*KafkaBroker, error) {
	k := &KafkaBroker{}
	properties, err := k.configure(dir, o)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "server.properties")
	if err := os.WriteFile(file, []byte(propertyLines(properties)), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "log4j2.properties"), kafkaLogging, 0o600); err != nil {
		return nil, err
	}
	classpath := dir + ":" + classes
	format := []string{"-cp", classpath, "kafka.tools.StorageTool", "format", "-t", clusterID(), "-c", file}
	if o.Secure {
		format = append(format, "--add-scram", fmt.Sprintf("SCRAM-SHA-512=[name=%s,password=%s]", k.User, k.Password))
	}
	if out, err := exec.Command("java", format...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("services: format kafka's storage: %w\n%s", err, out)
	}
	k.Running, err = Launch(Process{
		Name:    "kafka",
		Cmd:     exec.Command("java", "-Xmx512m", "-cp", classpath, "kafka.Kafka", file),
		Data:    dir,
		Ready:   k.ready,
		Timeout: 2 * time.Minute,
	})
	return k, err
}

// configure chooses the ports and, for a secure listener, makes certificates and a user.
func (k *KafkaBroker) configure(dir string, o KafkaOptions) (map[string]string, error) {
	ports, err := freePorts(4)
	if err != nil {
		return nil, err
	}
	plain, controller, secure, proxied := ports[0], ports[1], ports[2], ports[3]
	k.Addr = plain
	p := map[string]string{
		"process.roles":             "broker,controller",
		"node.id":                   "1",
		"controller.quorum.voters":  "1@" + controller,
		"controller.listener.names": "CONTROLLER",
		"listeners":                 "PLAINTEXT://" + plain + ",CONTROLLER://" + controller,
		"advertised.listeners":      "PLAINTEXT://" + plain,

		"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL,PROXIED:PLAINTEXT",

		"log.dirs":                  filepath.Join(dir, "data"),
		"num.partitions":            "1",
		"auto.create.topics.enable": "false",

		"offsets.topic.replication.factor":                            "1",
		"transaction.state.log.replication.factor":                    "1",
		"transaction.state.log.min.isr":                               "1",
		"transaction.state.log.num.partitions":                        "4",
		"offsets.topic.num.partitions":                                "4",
		"share.coordinator.state.topic.replication.factor":            "1",
		"share.coordinator.state.topic.min.isr":                       "1",
		"group.initial.rebalance.delay.ms":                            "0",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
	}
	if o.Secure {
		if err := k.secure(dir, secure, p); err != nil {
			return nil, err
		}
	}
	if o.Behind != "" {
		k.ProxiedAddr = proxied
		p["listeners"] += ",PROXIED://" + proxied
		p["advertised.listeners"] += ",PROXIED://" + o.Behind
	}
	maps.Copy(p, o.Properties)
	return p, nil
}

func (k *KafkaBroker) secure(dir, addr string, p map[string]string) error {
	ca, chain, err := serverCertificate(dir)
	if err != nil {
		return fmt.Errorf("services: certificate: %w", err)
	}
	k.SecureAddr, k.CA, k.User, k.Password = addr, ca, "reader", "pw-"+rand.Text()
	p["listeners"] += ",SASL_SSL://" + addr
	p["advertised.listeners"] += ",SASL_SSL://" + addr
	p["ssl.keystore.type"], p["ssl.keystore.location"] = "PEM", chain
	p["sasl.enabled.mechanisms"] = "SCRAM-SHA-512"
	p["listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config"] = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
	return nil
}

func (k *KafkaBroker) ready(ctx context.Context) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(k.Addr), kgo.RequestRetries(0), kgo.DialTimeout(time.Second), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return cl.Ping(ctx)
}

// freePorts are addresses that differ from each other.
func freePorts(n int) ([]string, error) {
	var addrs []string
	for len(addrs) < n {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		if addr := fmt.Sprintf("127.0.0.1:%d", port); !slices.Contains(addrs, addr) {
			addrs = append(addrs, addr)
		}
	}
	return addrs, nil
}

func propertyLines(p map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&b, "%s=%s\n", key, p[key])
	}
	return b.String()
}

// clusterID is 16 random bytes as Kafka spells them.
func clusterID() string {
	var id [16]byte
	rand.Read(id[:])
	id[0] &= 0x7f // a leading "-" would look like an option
	return base64.RawURLEncoding.EncodeToString(id[:])
}
