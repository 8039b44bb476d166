/** The version that a sandbox says it has. It acts as the default one, whichever it says. */

export interface KubernetesVersion {
  readonly minor: number;
  readonly patch: number;
}

const usual: KubernetesVersion = { minor: 34, patch: 4 };

/** `1.33` or `v1.33.2`; undefined for other texts. */
export function parseKubernetesVersion(text: string): KubernetesVersion | undefined {
  const [, minor, patch = "0"] = /^v?1\.(\d{1,3})(?:\.(\d{1,3}))?$/.exec(text) ?? [];
  return minor === undefined ? undefined : { minor: Number(minor), patch: Number(patch) };
}

/** `v1.34.4`, as kubelets write it. */
export function versionText({ minor, patch }: KubernetesVersion = usual): string {
  return `v1.${minor}.${patch}`;
}

/** The answer of `/version`. */
export function versionInfo(version: KubernetesVersion = usual): Readonly<Record<string, string>> {
  const minor = String(version.minor);
  return {
    major: "1",
    minor,
    emulationMajor: "1",
    emulationMinor: minor,
    minCompatibilityMajor: "1",
    minCompatibilityMinor: String(Math.max(0, version.minor - 1)),
    gitVersion: `${versionText(version)}-sandbox`,
    gitCommit: "",
    gitTreeState: "",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: "",
    compiler: "",
    platform: "",
  };
}
