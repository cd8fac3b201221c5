#!/usr/bin/env bash
# Installs from the distribution what the tests on real services need and the machine lacks: Java and Maven for Kafka and Spark, Python for the readers, strace for faults, PostgreSQL.
set -euo pipefail
missing=()
command -v java    >/dev/null || missing+=(openjdk-17-jre-headless)
command -v mvn     >/dev/null || missing+=(maven)
command -v strace  >/dev/null || missing+=(strace)
command -v python3 >/dev/null || missing+=(python3)
python3 -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3-venv)
command -v gcc     >/dev/null || missing+=(gcc libc6-dev)
compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || missing+=(postgresql)
[ ${#missing[@]} -eq 0 ] && exit 0
echo "installing: ${missing[*]}"
if [[ " ${missing[*]} " == *" postgresql "* && ! -e /etc/postgresql-common/createcluster.conf ]]; then # only the programs: no server that runs beside the tests
	mkdir -p /etc/postgresql-common
	echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"
