/** New certificates. The X.509 library is loaded only here: most starts find a valid set. Spec: platform 4.2, rule 3. */
import { createPrivateKey, randomBytes, webcrypto } from "node:crypto";
import { type CertificateSet, caIsReusable, type ServingNames } from "./certificate_set.ts";

const algorithm = {
  name: "RSASSA-PKCS1-v1_5",
  hash: "SHA-256",
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
};
type X509 = typeof import("@peculiar/x509");
const day = 24 * 60 * 60 * 1000;
const tenYears = 10 * 365 * day;
/** Clocks differ: that of the API server, of another replica, and our own before it was set. */
const backdatedMs = day;

/** A serving certificate for ten years, valid since the day before, signed by the CA of `previous` if that can still be used, else by a new one. */
export async function generateCertificates(
  names: ServingNames,
  now: number,
  previous?: CertificateSet,
): Promise<CertificateSet> {
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  x509.cryptoProvider.set(webcrypto);
  const validity = { notBefore: new Date(now - backdatedMs), notAfter: new Date(now + tenYears) };
  const authority =
    previous !== undefined && caIsReusable(previous, now) ? previous : await createAuthority(x509, validity);
  const caCert = new x509.X509Certificate(authority.caCert);
  const pair = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: `CN=${names.dns[0] ?? "localhost"}`,
    issuer: caCert.subject,
    ...validity,
    signingAlgorithm: algorithm,
    publicKey: pair.publicKey,
    signingKey: await importKey(authority.caKey),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyEncipherment,
        true,
      ),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([
        ...names.dns.map((value) => ({ type: "dns" as const, value })),
        ...names.ip.map((value) => ({ type: "ip" as const, value })),
      ]),
      await x509.AuthorityKeyIdentifierExtension.create(caCert.publicKey, false, webcrypto),
    ],
  });
  return {
    caCert: authority.caCert,
    caKey: authority.caKey,
    cert: `${certificate.toString("pem")}\n`,
    key: await exportKey(pair.privateKey),
  };
}

/** A CA of its own, self-signed. */
async function createAuthority(
  x509: X509,
  validity: { notBefore: Date; notAfter: Date },
): Promise<{ caCert: string; caKey: string }> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: "CN=webhook-cert-ca",
    ...validity,
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.digitalSignature |
          x509.KeyUsageFlags.keyEncipherment |
          x509.KeyUsageFlags.keyCertSign,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
    ],
  });
  return { caCert: `${ca.toString("pem")}\n`, caKey: await exportKey(keys.privateKey) };
}

/** Positive and of at most 16 bytes. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString("hex");
}

/** PKCS#1 PEM. */
async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", key));
  const pem = createPrivateKey({ key: der, format: "der", type: "pkcs8" }).export({
    type: "pkcs1",
    format: "pem",
  });
  return pem.toString();
}

async function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  const der = createPrivateKey(pem).export({ type: "pkcs8", format: "der" });
  return webcrypto.subtle.importKey("pkcs8", der, algorithm, false, ["sign"]);
}
