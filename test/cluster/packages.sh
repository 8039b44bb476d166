#!/usr/bin/env bash
# Makes sure that the Debian packages of the test cluster are installed; needs root only when one is missing.
set -euo pipefail

packages=(etcd-server containerd runc containernetworking-plugins docker-registry skopeo umoci busybox-static
  iptables iproute2 socat conntrack openssl libfaketime)

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "packages: all present"
  exit 0
fi
echo "packages: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# Services of the packages must not start: the cluster runs its own processes.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
  trap 'rm -f "$policy"' EXIT
fi
apt-get install --yes --quiet --no-install-recommends "${missing[@]}" >/tmp/refit-apt.log 2>&1 || {
  apt-get update --quiet >/dev/null
  apt-get install --yes --quiet --no-install-recommends "${missing[@]}" >/tmp/refit-apt.log 2>&1 || {
    tail -n 30 /tmp/refit-apt.log >&2
    exit 1
  }
}
