/** Defaults of one volume, as the API server sets them. Everything here changes the given object. */
import { coreStruct } from "../core_types.ts";
import type { JsonObject } from "../json.ts";
import { defaultFieldRef, roundResources, setDefault, setMissing } from "./container_defaults.ts";
import { has, objectAt, objectsAt, textAt } from "./fields.ts";
import { pullPolicyByTag } from "./image_reference.ts";

/** 0644, as JSON knows no octal numbers. */
const FILE_MODE = 420;

export function defaultVolume(volume: JsonObject): void {
  const sources = [...(coreStruct("Volume")?.keys() ?? [])].filter((key) => key !== "name");
  if (!sources.some((source) => has(volume, source))) volume["emptyDir"] = {};
  for (const [name, apply] of Object.entries(sourceDefaults)) {
    const source = objectAt(volume, name);
    if (source !== undefined) apply(source);
  }
}

const fileMode = (source: JsonObject) => setMissing(source, "defaultMode", FILE_MODE);

function downwardItems(source: JsonObject | undefined): void {
  for (const [item] of objectsAt(source, "items")) defaultFieldRef(objectAt(item, "fieldRef"));
}

const sourceDefaults: Readonly<Record<string, (source: JsonObject) => void>> = {
  hostPath: (source) => setMissing(source, "type", ""),
  secret: fileMode,
  configMap: fileMode,
  downwardAPI(source) {
    fileMode(source);
    downwardItems(source);
  },
  projected(source) {
    fileMode(source);
    for (const [projection] of objectsAt(source, "sources")) {
      downwardItems(objectAt(projection, "downwardAPI"));
      const token = objectAt(projection, "serviceAccountToken");
      if (token !== undefined) setMissing(token, "expirationSeconds", 3600);
    }
  },
  iscsi: (source) => setDefault(source, "iscsiInterface", "default"),
  rbd(source) {
    setDefault(source, "pool", "rbd");
    setDefault(source, "user", "admin");
    setDefault(source, "keyring", "/etc/ceph/keyring");
  },
  azureDisk(source) {
    setMissing(source, "cachingMode", "ReadWrite");
    setMissing(source, "fsType", "ext4");
    setMissing(source, "readOnly", false);
    setMissing(source, "kind", "Shared");
  },
  scaleIO(source) {
    setDefault(source, "storageMode", "ThinProvisioned");
    setDefault(source, "fsType", "xfs");
  },
  ephemeral(source) {
    const spec = objectAt(objectAt(source, "volumeClaimTemplate"), "spec");
    if (spec === undefined) return;
    defaultClaimSpec(spec);
  },
  image: (source) => setDefault(source, "pullPolicy", pullPolicyByTag(textAt(source, "reference"))),
};

function defaultClaimSpec(spec: JsonObject): void {
  setMissing(spec, "volumeMode", "Filesystem");
  roundResources(objectAt(spec, "resources"));
}
