/** Volumes of a pod: names, exactly one source each, and what every source needs. */

import { notSupported, tooLong } from "../../field_errors.ts";
import { utf8Length } from "../../go_text.ts";
import type { JsonObject } from "../../json.ts";
import { dnsLabelErrors, dnsSubdomainErrors, rangeMessage } from "../../names.ts";
import { isQuantity, parseQuantity } from "../../quantity.ts";
import { validateClaimTemplate } from "./claim_validation.ts";
import type { Cursor } from "./cursor.ts";
import { backstepErrors, descendingErrors } from "./path_rules.ts";
import {
  validateDownwardFile,
  validateKeyToPath,
  validateMode,
  validateProjected,
} from "./projected_validation.ts";

/** The valid volumes by name; errors go to the cursor. */
export function validateVolumes(spec: Cursor): Map<string, JsonObject> {
  const valid = new Map<string, JsonObject>();
  for (const volume of spec.objects("volumes")) {
    const before = spec.errors.length;
    const name = volume.text("name");
    validateSource(volume);
    if (volume.needsText("name")) volume.follows("name", dnsLabelErrors);
    if (valid.has(name)) volume.duplicate("name", name);
    if (spec.errors.length === before) valid.set(name, volume.value);
  }
  return valid;
}

function validateSource(volume: Cursor): void {
  let found = false;
  for (const [name, validate] of Object.entries(sources)) {
    const source = volume.object(name);
    if (source === undefined) continue;
    if (found) volume.forbidden(pathsOfSecond[name] ?? name, "may not specify more than 1 volume type");
    else validate(source, volume);
    found = true;
  }
  if (!found) volume.required("", "must specify a volume type");
}

/** Where the server reports a second source under another name than the field's. */
const pathsOfSecond: Readonly<Record<string, string>> = { cephfs: "cephFS", downwardAPI: "downwarAPI" };

const needs =
  (...keys: readonly string[]) =>
  (source: Cursor): void => {
    for (const key of keys) source.needsText(key);
  };

function needsList(source: Cursor, key: string): void {
  if (source.list(key).length === 0) source.required(key);
}

function needsSecretName(source: Cursor): void {
  const secret = source.object("secretRef");
  if (secret?.text("name") === "") source.required("secretRef.name");
}

function validatePartition(source: Cursor): void {
  const partition = source.number("partition") ?? 0;
  if (partition < 0 || partition > 255) source.invalid("partition", partition, rangeMessage(1, 255));
}

const sources: Readonly<Record<string, (source: Cursor, volume: Cursor) => void>> = {
  emptyDir(source) {
    const limit = source.value["sizeLimit"];
    if (isQuantity(limit) && parseQuantity(limit).nano < 0n) {
      source.forbidden("sizeLimit", "SizeLimit field must be a valid resource quantity");
    }
  },
  hostPath: validateHostPath,
  gitRepo(source) {
    source.needsText("repository");
    source.follows("directory", descendingErrors);
  },
  gcePersistentDisk(source, volume) {
    const disk = source.movedTo(volume.at("persistentDisk"));
    disk.needsText("pdName");
    validatePartition(disk);
  },
  awsElasticBlockStore(source) {
    source.needsText("volumeID");
    validatePartition(source);
  },
  secret: (source) => validateFiles(source, "secretName"),
  nfs(source) {
    source.needsText("server");
    source.needsText("path");
    const path = source.text("path");
    if (!path.startsWith("/")) source.invalid("path", path, "must be an absolute path");
  },
  iscsi: validateIscsi,
  glusterfs: needs("endpoints", "path"),
  flocker: validateFlocker,
  persistentVolumeClaim: needs("claimName"),
  rbd(source) {
    needsList(source, "monitors");
    source.needsText("image");
  },
  cinder(source) {
    source.needsText("volumeID");
    needsSecretName(source);
  },
  cephfs: (source) => needsList(source, "monitors"),
  quobyte: validateQuobyte,
  downwardAPI(source) {
    validateMode(source, "defaultMode");
    for (const file of source.objects("items")) validateDownwardFile(file, source);
  },
  fc: validateFibreChannel,
  flexVolume: validateFlexVolume,
  configMap: (source) => validateFiles(source, "name"),
  azureFile: needs("secretName", "shareName"),
  vsphereVolume: needs("volumePath"),
  photonPersistentDisk: needs("pdID"),
  portworxVolume: needs("volumeID"),
  azureDisk: validateAzureDisk,
  storageos: validateStorageOs,
  projected: validateProjected,
  scaleIO: needs("gateway", "system", "volumeName"),
  csi: validateCsi,
  ephemeral(source) {
    const template = source.object("volumeClaimTemplate");
    if (template === undefined) source.required("volumeClaimTemplate");
    else validateClaimTemplate(template);
  },
  image: (source) => source.choice("pullPolicy", ["Always", "IfNotPresent", "Never"], true),
};

function validateFiles(source: Cursor, nameKey: string): void {
  source.needsText(nameKey);
  validateMode(source, "defaultMode");
  for (const item of source.objects("items")) validateKeyToPath(item);
}

const hostPathTypes = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
];

function validateHostPath(source: Cursor): void {
  if (!source.needsText("path")) return;
  source.follows("path", backstepErrors);
  source.oneOf("type", hostPathTypes);
}

/** Complaints about the name of an iSCSI target or initiator. */
function iscsiNameErrors(name: string): string[] {
  if (!/^(iqn|eui|naa)/.test(name)) return ["must be valid format starting with iqn, eui, or naa"];
  const patterns = [
    /iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)$/,
    /^eui.[A-Za-z0-9]{16}$/,
    /^naa.[A-Za-z0-9]{32}$/,
  ];
  return patterns.some((pattern) => pattern.test(name)) ? [] : ["must be valid format"];
}

function validateIscsi(source: Cursor, volume: Cursor): void {
  source.needsText("targetPortal");
  if (source.needsText("iqn")) source.follows("iqn", iscsiNameErrors);
  const lun = source.number("lun") ?? 0;
  if (lun < 0 || lun > 255) source.invalid("lun", lun, rangeMessage(0, 255));
  if ((source.flag("chapAuthDiscovery") || source.flag("chapAuthSession")) && !source.has("secretRef")) {
    source.required("secretRef");
  }
  if (!source.has("initiatorName")) return;
  source.complain(
    "initiatorname",
    source.text("initiatorName"),
    iscsiNameErrors(source.text("initiatorName")),
  );
  if (`${volume.text("name")}:${source.text("targetPortal")}`.length > 64) {
    const detail =
      "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
    volume.invalid("name", volume.text("name"), detail);
  }
}

function validateFlocker(source: Cursor): void {
  const name = source.text("datasetName");
  const uuid = source.text("datasetUUID");
  if (name === "" && uuid === "") source.required("", "one of datasetName and datasetUUID is required");
  if (name !== "" && uuid !== "") {
    source.invalid("", "resource", "datasetName and datasetUUID can not be specified simultaneously");
  }
  if (name.includes("/")) source.invalid("datasetName", name, "must not contain '/'");
}

function validateQuobyte(source: Cursor): void {
  const registry = source.text("registry");
  const pairs = "must be a host:port pair or multiple pairs separated by commas";
  if (registry === "") source.required("registry", pairs);
  else if (source.text("tenant").length >= 65) {
    source.required("tenant", "must be a UUID and may not exceed a length of 64 characters");
  } else {
    const isPair = /^([^:[\]]*|\[[^[\]]*\]):[^:[\]]*$/;
    for (const pair of registry.split(","))
      if (!isPair.test(pair)) source.invalid("registry", registry, pairs);
  }
  source.needsText("volume");
}

function validateFibreChannel(source: Cursor): void {
  const targets = source.list("targetWWNs");
  const identifiers = source.list("wwids");
  const key = "targetWWNs";
  if (targets.length === 0 && identifiers.length === 0) {
    source.required(key, "must specify either targetWWNs or wwids, but not both");
  } else if (targets.length > 0 && identifiers.length > 0) {
    source.invalid(key, targets, "targetWWNs and wwids can not be specified simultaneously");
  }
  if (targets.length === 0) return;
  const lun = source.number("lun");
  if (lun === undefined) source.required("lun", "lun is required if targetWWNs is specified");
  else if (lun < 0 || lun > 255) source.invalid("lun", lun, rangeMessage(0, 255));
}

function validateFlexVolume(source: Cursor): void {
  source.needsText("driver");
  for (const key of Object.keys(source.object("options")?.value ?? {})) {
    const domain = `.${(key.split("/")[0] ?? "").toLowerCase()}`;
    if (!domain.endsWith(".kubernetes.io") && !domain.endsWith(".k8s.io")) continue;
    source.invalid(`options[${key}]`, key, "kubernetes.io and k8s.io namespaces are reserved");
  }
}

function validateAzureDisk(source: Cursor): void {
  source.needsText("diskName");
  source.needsText("diskURI");
  source.choice("cachingMode", ["None", "ReadOnly", "ReadWrite"]);
  source.choice("kind", ["Dedicated", "Managed", "Shared"]);
  const uri = source.text("diskURI");
  const managed = source.text("kind") === "Managed";
  const resource =
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
  const blob = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
  if (!source.has("kind") || uri.startsWith(managed ? "/subscriptions/" : "https://")) return;
  source.add(notSupported(source.at("diskURI"), uri, [managed ? resource : blob]));
}

function validateStorageOs(source: Cursor): void {
  if (source.needsText("volumeName")) source.follows("volumeName", dnsLabelErrors);
  source.followsIfSet("volumeNamespace", dnsLabelErrors);
  needsSecretName(source);
}

function validateCsi(source: Cursor): void {
  const driver = source.text("driver");
  source.needsText("driver");
  if (utf8Length(driver) > 63) source.add(tooLong(source.at("driver"), 63));
  source.complain("driver", driver, dnsSubdomainErrors(driver.toLowerCase()));
  const secret = source.object("nodePublishSecretRef");
  if (secret?.needsText("name"))
    source.complain("name", secret.text("name"), dnsSubdomainErrors(secret.text("name")));
}
