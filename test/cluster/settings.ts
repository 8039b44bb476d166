/** Where the test cluster lives: folders, free ports, and the texts of its configuration files. */
import { readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { apiServiceAddress } from "./api_address.ts";
import { pauseImage } from "./images.ts";

export const kubernetesVersion = "1.34.4";

/** Programs built once per version; REFIT_CLUSTER_BIN names a folder that has them already. */
export function programFolder(environment: NodeJS.ProcessEnv): string {
  const given = environment["REFIT_CLUSTER_BIN"];
  return given || cachedPrograms("kubernetes", kubernetesVersion, environment);
}

/** Where programs of a project's version are kept once they were built. */
export function cachedPrograms(project: string, version: string, environment: NodeJS.ProcessEnv): string {
  const cache = environment["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  return join(cache, "refit", `${project}-${version}`);
}

export function writeKubeconfig(file: string, url: string, pki: string, name: string): void {
  const encoded = (path: string) => readFileSync(join(pki, path)).toString("base64");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server: url, "certificate-authority-data": encoded("ca.crt") } }],
    users: [
      {
        name,
        user: {
          "client-certificate-data": encoded(`${name}.crt`),
          "client-key-data": encoded(`${name}.key`),
        },
      },
    ],
    contexts: [{ name: "test", context: { cluster: "test", user: name } }],
    "current-context": "test",
  };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
}

/** Everything that the runtime writes stays below `folder`, so that one sweep of mounts and files ends it. */
export function containerdConfig(folder: string, network: string, registries: string): string {
  return `version = 2
root = "${folder}/containerd"
state = "${folder}/state"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs"]
[grpc]
  address = "${folder}/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "${folder}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${network}"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${registries}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      Root = "${folder}/runc"
`;
}

/** Addresses are handed out from one store for all nodes, since they share the bridge. */
export function networkConfig(folder: string, bridge: string, subnet: string): string {
  return JSON.stringify({
    cniVersion: "0.4.0",
    name: "refit-test",
    plugins: [
      {
        type: "bridge",
        bridge,
        isGateway: true,
        ipMasq: false,
        ipam: {
          type: "host-local",
          dataDir: `${folder}/addresses`,
          ranges: [[{ subnet }]],
          routes: [{ dst: subnet }, { dst: `${apiServiceAddress}/32` }],
        },
      },
    ],
  });
}

export interface KubeletPorts {
  readonly server: number;
  readonly health: number;
}

export function kubeletConfig(folder: string, pki: string, cgroup: string, ports: KubeletPorts): string {
  return JSON.stringify({
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    address: "127.0.0.1",
    port: ports.server,
    healthzBindAddress: "127.0.0.1",
    healthzPort: ports.health,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: false },
      x509: { clientCAFile: join(pki, "ca.crt") },
    },
    authorization: { mode: "AlwaysAllow" },
    cgroupDriver: "cgroupfs",
    cgroupRoot: cgroup,
    enforceNodeAllocatable: [],
    failSwapOn: false,
    failCgroupV1: false,
    containerRuntimeEndpoint: `unix://${folder}/containerd.sock`,
    imageGCHighThresholdPercent: 100,
    evictionHard: {},
    localStorageCapacityIsolation: false,
    makeIPTablesUtilChains: false,
    oomScoreAdj: 0,
    resolvConf: "",
    maxPods: 200,
    featureGates: { KubeletInUserNamespace: true },
    serializeImagePulls: false,
    registryPullQPS: 0,
    eventRecordQPS: 0,
    volumePluginDir: `${folder}/volume-plugins`,
    staticPodPath: "",
  });
}
