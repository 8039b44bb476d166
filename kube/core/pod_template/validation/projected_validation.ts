/** Files that volumes are made of: keys of ConfigMaps and Secrets, fields of the pod, tokens, certificates. */
import { dnsSubdomainErrors } from "../../names.ts";
import { validateSelector } from "../../selector.ts";
import type { Cursor } from "./cursor.ts";
import { validateFieldRef, validateResourceFieldRef, volumeFields } from "./env_validation.ts";
import { volumePathErrors } from "./path_rules.ts";
import { selectorInput } from "./selector_input.ts";

export function validateMode(source: Cursor, key: string): void {
  const mode = source.number(key);
  if (mode === undefined || (mode >= 0 && mode <= 0o777)) return;
  source.invalid(key, mode, "must be a number between 0 and 0777 (octal), both inclusive");
}

export function validateKeyToPath(item: Cursor): void {
  item.needsText("key");
  item.needsText("path");
  item.follows("path", volumePathErrors);
  validateMode(item, "mode");
}

/** `report` takes the errors: the server names the source, not the file. */
export function validateDownwardFile(file: Cursor, report: Cursor): void {
  const path = file.text("path");
  report.complain("path", path, volumePathErrors(path));
  if (path === "") report.required("path");
  const field = file.object("fieldRef");
  const resource = file.object("resourceFieldRef");
  if (field !== undefined) {
    validateFieldRef(field.movedTo(report.at("fieldRef")), volumeFields);
    if (resource !== undefined) {
      report.invalid("", "resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
    }
  } else if (resource !== undefined) {
    validateResourceFieldRef(resource.movedTo(report.at("resourceFieldRef")), true);
  } else {
    report.required("", "one of fieldRef and resourceFieldRef is required");
  }
  validateMode(file.movedTo(report.path), "mode");
}

type PathCheck = (path: string, name: string) => void;

export function validateProjected(source: Cursor): void {
  validateMode(source, "defaultMode");
  const paths = new Set<string>();
  const once: PathCheck = (path, name) => {
    if (path === "") return;
    if (paths.has(path)) source.invalid("", name, "conflicting duplicate paths");
    paths.add(path);
  };
  for (const projection of source.objects("sources")) {
    let count = 0;
    for (const [key, validate] of Object.entries(projections)) {
      const part = projection.object(key);
      if (part === undefined) continue;
      count++;
      validate(part, once, source);
    }
    if (count > 1) projection.forbidden("", "may not specify more than 1 volume type per source");
  }
}

const projections: Readonly<Record<string, (part: Cursor, once: PathCheck, source: Cursor) => void>> = {
  secret: validateKeys,
  configMap: validateKeys,
  downwardAPI(part, once) {
    for (const file of part.objects("items")) {
      validateDownwardFile(file, part);
      once(file.text("path"), file.text("path"));
    }
  },
  serviceAccountToken(part, _once, source) {
    const seconds = part.number("expirationSeconds") ?? 0;
    const key = "expirationSeconds";
    if (seconds < 600) part.invalid(key, seconds, "may not specify a duration less than 10 minutes");
    if (seconds > 2 ** 32) part.invalid(key, seconds, "may not specify a duration larger than 2^32 seconds");
    const path = part.text("path");
    if (path === "") source.required("path");
    else source.complain("path", path, volumePathErrors(path));
  },
  clusterTrustBundle: validateTrustBundle,
  podCertificate: validateCertificate,
};

function validateKeys(part: Cursor, once: PathCheck): void {
  part.needsText("name");
  for (const item of part.objects("items")) {
    validateKeyToPath(item);
    once(item.text("path"), part.text("name"));
  }
}

function validateTrustBundle(part: Cursor, once: PathCheck): void {
  const name = part.text("name");
  if (part.has("name") && part.has("signerName")) {
    part.invalid("", part.value, "only one of name and signerName may be used");
  } else if (part.has("name")) {
    part.needsText("name", "must be a valid object name");
    for (const complaint of dnsSubdomainErrors(name.replaceAll(":", "."))) {
      part.invalid("name", name, `not a valid clustertrustbundlename: ${complaint}`);
    }
    if (part.has("labelSelector")) {
      part.invalid(
        "labelSelector",
        part.value["labelSelector"],
        "labelSelector must be unset if name is specified",
      );
    }
  } else if (part.has("signerName")) {
    if (part.needsText("signerName", "must be a valid signer name")) validateSigner(part);
    part.add(...validateSelector(selectorInput(part.object("labelSelector")), part.at("labelSelector")));
  } else {
    part.required("", "either name or signerName must be specified");
  }
  part.needsText("path");
  part.follows("path", volumePathErrors);
  once(part.text("path"), part.text("path"));
}

function validateSigner(part: Cursor): void {
  const signer = part.text("signerName");
  const [domain = "", ...rest] = signer.split("/");
  if (rest.length !== 1 || rest[0] === "" || domain === "") {
    part.invalid(
      "signerName",
      signer,
      "must be a fully qualified domain and path of the form 'example.com/signer-name'",
    );
    return;
  }
  part.complain("signerName", domain, dnsSubdomainErrors(domain));
}

const keyTypes = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];

function validateCertificate(part: Cursor, once: PathCheck): void {
  if (part.needsText("signerName")) validateSigner(part);
  part.oneOf("keyType", keyTypes);
  const seconds = part.number("maxExpirationSeconds");
  if (seconds !== undefined && seconds < 3600) {
    part.invalid("maxExpirationSeconds", seconds, "if provided, maxExpirationSeconds must be >= 3600");
  }
  const longest = part.text("signerName").startsWith("kubernetes.io/") ? 86_400 : 91 * 86_400;
  if (seconds !== undefined && seconds > longest) {
    part.invalid("maxExpirationSeconds", seconds, `if provided, maxExpirationSeconds must be <= ${longest}`);
  }
  const keys = ["credentialBundlePath", "keyPath", "certificateChainPath"].filter(
    (key) => part.text(key) !== "",
  );
  for (const key of keys) {
    part.follows(key, volumePathErrors);
    once(part.text(key), part.text(key));
  }
  if (keys.length === 0) {
    part.required("", "specify at least one of credentialBundlePath, keyPath, and certificateChainPath");
  }
}
