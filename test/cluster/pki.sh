#!/usr/bin/env bash
# Keys and certificates of the test cluster, valid for two days.
#   pki.sh FOLDER NODE...
set -euo pipefail
folder=$1
shift
mkdir -p "$folder"
cd "$folder"

openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=refit-test-ca 2>/dev/null
issue() { # name, subject, alternative names
  openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.csr" -subj "$2" 2>/dev/null
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -out "$1.crt" \
    -extfile <(printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\n' "$3") 2>/dev/null
  rm "$1.csr"
}
services=DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc
issue apiserver /CN=kube-apiserver "DNS:localhost,$services,IP:127.0.0.1,IP:10.96.0.1"
issue admin /O=system:masters/CN=admin DNS:admin
openssl genrsa -out service-accounts.key 2048 2>/dev/null
openssl rsa -in service-accounts.key -pubout -out service-accounts.pub 2>/dev/null
for node in "$@"; do issue "$node" "/O=system:nodes/CN=system:node:$node" "DNS:$node"; done
