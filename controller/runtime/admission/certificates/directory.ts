/** Certificates as files, replaced all at once: a reader never sees a key beside another key's certificate. */
import { lstat, mkdir, readdir, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { privateDirectory, readPrivateFile } from "../../../../kube/index.ts";
import type { CertificateSet } from "./certificate_set.ts";

/** The files, which are also the keys of the Secret. Spec: platform 4.2, rule 3. */
export function certificateFiles(set: CertificateSet): Record<string, string> {
  return {
    "ca-key.pem": set.caKey,
    "ca-cert.pem": set.caCert,
    "key.pem": set.key,
    "tls.key": set.key,
    "cert.pem": set.cert,
    "tls.crt": set.cert,
  };
}

/** A set out of files or Secret keys of these names. */
export function certificateSetOf(read: (name: string) => string | undefined): CertificateSet {
  return {
    caCert: read("ca-cert.pem") ?? "",
    caKey: read("ca-key.pem") ?? "",
    cert: read("cert.pem") ?? read("tls.crt") ?? "",
    key: read("key.pem") ?? read("tls.key") ?? "",
  };
}

/**
 * What the directory holds; undefined when it holds no certificate. Throws KubeError `Config` when somebody else may have put
 * it there. Missing files make the set invalid, which is found out when it is checked.
 */
export async function readCertificateDirectory(path: string): Promise<CertificateSet | undefined> {
  const directory = await privateDirectory(path);
  const files = new Map<string, string>();
  for (const name of ["ca-key.pem", "ca-cert.pem", "key.pem", "tls.key", "cert.pem", "tls.crt"]) {
    const text = await readPrivateFile(join(directory, name));
    if (text !== undefined) files.set(name, text);
  }
  return files.size === 0 ? undefined : certificateSetOf((name) => files.get(name));
}

/**
 * Writes a new version beside the present one and moves the link `..data` over to it in one step. Files are for the
 * owner only. `version` names the new subdirectory and must be new. Does nothing when the files are the same.
 */
export async function writeCertificateDirectory(
  path: string,
  set: CertificateSet,
  version: string,
): Promise<void> {
  const present = await readCertificateDirectory(path);
  const files = certificateFiles(set);
  if (present !== undefined && JSON.stringify(certificateFiles(present)) === JSON.stringify(files)) return;
  const directory = await privateDirectory(path);
  const fresh = `..${version}`;
  await mkdir(join(directory, fresh), { mode: 0o700 });
  for (const [name, text] of Object.entries(files))
    await writeFile(join(directory, fresh, name), text, { mode: 0o600 });
  const old = await readlink(join(directory, "..data")).catch(() => undefined);
  await symlink(fresh, join(directory, `${fresh}_link`));
  await rename(join(directory, `${fresh}_link`), join(directory, "..data"));
  for (const name of Object.keys(files)) await linkFile(directory, name, fresh);
  if (old !== undefined && old !== fresh && old.startsWith("..")) {
    await rm(join(directory, old), { recursive: true, force: true });
  }
  await removeLeftovers(directory, fresh);
}

/** The visible name points into `..data`; a plain file of that name is replaced. */
async function linkFile(directory: string, name: string, version: string): Promise<void> {
  const path = join(directory, name);
  const target = join("..data", name);
  if ((await readlink(path).catch(() => undefined)) === target) return;
  await symlink(target, join(directory, `${version}_${name}`));
  await rename(join(directory, `${version}_${name}`), path);
}

/** Versions that a crash left behind. */
async function removeLeftovers(directory: string, keep: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (!name.startsWith("..") || name === "..data" || name === keep) continue;
    const path = join(directory, name);
    const status = await lstat(path);
    if (status.isDirectory() || status.isSymbolicLink()) await rm(path, { recursive: true, force: true });
  }
}
