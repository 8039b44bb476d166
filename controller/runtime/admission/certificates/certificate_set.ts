/** A CA and the serving certificate it signed, as PEM; and whether they can be used. Spec: platform 4.2. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { messageOf } from "../../../../kube/index.ts";

export interface CertificateSet {
  readonly caCert: string;
  /** Empty with certificates from outside. */
  readonly caKey: string;
  readonly cert: string;
  readonly key: string;
}

/** Names under which the server is reached. The first DNS name is the subject. */
export interface ServingNames {
  readonly dns: readonly string[];
  readonly ip: readonly string[];
}

const day = 24 * 60 * 60 * 1000;
/** A CA is kept while it is valid for more than this. */
const caReserveMs = 365 * day;

/** Names for a service, and for a host when the server is reached by URL. */
export function servingNames(service: { name: string; namespace: string }, host?: string): ServingNames {
  const dns = [`${service.name}.${service.namespace}.svc`, "localhost"];
  if (host === undefined || host === "") return { dns, ip: [] };
  return isIP(host) === 0 ? { dns: [...new Set([...dns, host])], ip: [] } : { dns, ip: [host] };
}

/** Why the set cannot be served until `renewBeforeMs` from `now`; undefined when it can. */
export function certificateProblem(
  set: CertificateSet,
  names: ServingNames,
  now: number,
  renewBeforeMs: number,
): string | undefined {
  try {
    const ca = new X509Certificate(set.caCert);
    const cert = new X509Certificate(set.cert);
    if (!cert.checkPrivateKey(createPrivateKey(set.key))) return "the key does not belong to the certificate";
    if (!cert.checkIssued(ca) || !cert.verify(ca.publicKey)) return "the certificate is not signed by the CA";
    if (!ca.ca) return "the CA certificate may not sign";
    for (const name of names.dns)
      if (cert.checkHost(name) === undefined) return `the certificate does not name ${name}`;
    for (const ip of names.ip)
      if (cert.checkIP(ip) === undefined) return `the certificate does not name ${ip}`;
    for (const each of [cert, ca]) {
      if (Date.parse(each.validFrom) > now) return `valid only from ${each.validFrom}`;
      if (Date.parse(each.validTo) < now + renewBeforeMs) return `valid only until ${each.validTo}`;
    }
    return undefined;
  } catch (error) {
    return `unreadable: ${messageOf(error)}`;
  }
}

/** Whether the CA of a set may sign another certificate. */
export function caIsReusable(set: CertificateSet, now: number): boolean {
  try {
    const ca = new X509Certificate(set.caCert);
    // One that is not valid yet would make a set that is to be replaced at once.
    const isValid = Date.parse(ca.validFrom) <= now && Date.parse(ca.validTo) > now + caReserveMs;
    return ca.ca && isValid && ca.checkPrivateKey(createPrivateKey(set.caKey));
  } catch {
    return false;
  }
}

/** `CERTS_RENEW_BEFORE`: a number and d, m (30 days) or y (365 days); 180 days when it is anything else. */
export function renewBefore(text: string | undefined): number {
  const match = /^(\d+)([dmy])$/.exec(text ?? "");
  if (match === null) return 180 * day;
  return (
    Number(match[1]) * day * { d: 1, m: 30, y: 365 }[match[2] === "d" ? "d" : match[2] === "m" ? "m" : "y"]
  );
}
