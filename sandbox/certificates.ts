import "reflect-metadata"; // the x509 library resolves its parts through it
/** Certificates of one sandbox: a CA, the server's, and the administrator's, made in memory at start. */
import { webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

export interface Certificates {
  /** PEM texts. */
  readonly caCert: string;
  readonly serverCert: string;
  readonly serverKey: string;
  readonly adminCert: string;
  readonly adminKey: string;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const usages: KeyUsage[] = ["sign", "verify"];
const dayMs = 86_400_000;

/** `now` in milliseconds; all certificates are valid from a day before it for ten years. */
export async function makeCertificates(host: string, now: number): Promise<Certificates> {
  x509.cryptoProvider.set(webcrypto);
  const dates = { notBefore: new Date(now - dayMs), notAfter: new Date(now + 3650 * dayMs) };
  const [ca, server, admin] = await Promise.all([newKeys(), newKeys(), newKeys()]);
  const caCert = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: "01",
    name: "CN=sandbox-ca",
    ...dates,
    signingAlgorithm: algorithm,
    keys: ca,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature, true),
    ],
  });
  const issue = (serialNumber: string, subject: string, keys: CryptoKeyPair, extensions: x509.Extension[]) =>
    x509.X509CertificateGenerator.create({
      serialNumber,
      subject,
      issuer: caCert.subject,
      ...dates,
      signingAlgorithm: algorithm,
      publicKey: keys.publicKey,
      signingKey: ca.privateKey,
      extensions,
    });
  const [serverCert, adminCert] = await Promise.all([
    issue("02", "CN=kube-apiserver", server, [
      new x509.SubjectAlternativeNameExtension(alternativeNames(host)),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    ]),
    issue("03", "O=system:masters, CN=admin", admin, [
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]),
    ]),
  ]);
  return {
    caCert: caCert.toString("pem"),
    serverCert: serverCert.toString("pem"),
    serverKey: await privateKeyPem(server),
    adminCert: adminCert.toString("pem"),
    adminKey: await privateKeyPem(admin),
  };
}

type CryptoKeyPair = webcrypto.CryptoKeyPair;
type KeyUsage = webcrypto.KeyUsage;

function newKeys(): Promise<CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, usages);
}

function alternativeNames(host: string): x509.JsonGeneralNames {
  const names: x509.JsonGeneralNames = [
    { type: "dns", value: "localhost" },
    { type: "dns", value: "kubernetes.default.svc" },
    { type: "ip", value: "127.0.0.1" },
  ];
  if (/^[\d.]+$/.test(host) || host.includes(":")) {
    if (host !== "127.0.0.1") names.push({ type: "ip", value: host });
  } else if (host !== "localhost") names.push({ type: "dns", value: host });
  return names;
}

async function privateKeyPem(keys: CryptoKeyPair): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  const lines = der.match(/.{1,64}/g) ?? [];
  return `-----BEGIN PRIVATE KEY-----\n${lines.join("\n")}\n-----END PRIVATE KEY-----\n`;
}
