/** How the servers of a control plane are called, on loopback. */
import { join } from "node:path";

export function apiServerArguments(pki: string, port: number, stores: readonly string[]): string[] {
  const key = (name: string) => join(pki, name);
  return [
    `--etcd-servers=${stores.join(",")}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    `--secure-port=${port}`,
    `--client-ca-file=${key("ca.crt")}`,
    `--tls-cert-file=${key("apiserver.crt")}`,
    `--tls-private-key-file=${key("apiserver.key")}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${key("service-accounts.pub")}`,
    `--service-account-signing-key-file=${key("service-accounts.key")}`,
    `--kubelet-client-certificate=${key("admin.crt")}`,
    `--kubelet-client-key=${key("admin.key")}`,
    "--kubelet-preferred-address-types=Hostname",
    "--authorization-mode=Node,RBAC",
    "--service-cluster-ip-range=10.96.0.0/16",
    "--allow-privileged=true",
    "--endpoint-reconciler-type=none",
    "--enable-admission-plugins=NodeRestriction",
    "--max-requests-inflight=2000",
    "--max-mutating-requests-inflight=1000",
  ];
}

/** Without kube-proxy nothing listens at a Service's address: the server asks for the pods behind it. */
export const podsUseApiArguments = ["--enable-aggregator-routing=true"];
export const podsDoWithoutApiArguments = ["--disable-admission-plugins=ServiceAccount"];

export function componentArguments(kubeconfig: string, port: number): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    "--leader-elect=false",
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    "--kube-api-qps=500",
    "--kube-api-burst=1000",
  ];
}
