/** Volume mounts and block devices of a container. */
import { notSupported } from "../../field_errors.ts";
import type { JsonObject } from "../../json.ts";
import { has } from "../fields.ts";
import type { Cursor } from "./cursor.ts";
import { backstepErrors, descendingErrors } from "./path_rules.ts";

/** Valid volumes of the pod by name. */
export type Volumes = ReadonlyMap<string, JsonObject>;

export function validateMounts(container: Cursor, volumes: Volumes): void {
  const mounts = container.objects("volumeMounts");
  const devices = container.objects("volumeDevices");
  validateVolumeMounts(container, mounts, devices, volumes);
  validateDevices(devices, mounts, volumes);
}

const valuesOf = (items: readonly Cursor[], key: string) => new Set(items.map((item) => item.text(key)));

function validateVolumeMounts(
  container: Cursor,
  mounts: readonly Cursor[],
  devices: readonly Cursor[],
  volumes: Volumes,
): void {
  const deviceNames = valuesOf(devices, "name");
  const devicePaths = valuesOf(devices, "devicePath");
  const seen = new Set<string>();
  for (const mount of mounts) {
    const name = mount.text("name");
    const path = mount.text("mountPath");
    mount.needsText("name");
    if (!volumes.has(name)) mount.notFound("name", name);
    mount.needsText("mountPath");
    if (seen.has(path)) mount.invalid("mountPath", path, "must be unique");
    seen.add(path);
    if (deviceNames.has(name)) mount.invalid("name", name, "must not already exist in volumeDevices");
    if (devicePaths.has(path)) {
      mount.invalid("mountPath", path, "must not already exist as a path in volumeDevices");
    }
    validateSubPaths(container, mount);
    validatePropagation(container, mount);
  }
}

/** The server reports these at the list, not at the mount. */
function validateSubPaths(container: Cursor, mount: Cursor): void {
  const subPath = mount.text("subPath");
  const expression = mount.text("subPathExpr");
  if (subPath !== "") container.complain("volumeMounts.subPath", subPath, descendingErrors(subPath));
  if (expression === "") return;
  if (subPath !== "") {
    mount.invalid("subPathExpr", expression, "subPathExpr and subPath are mutually exclusive");
  }
  container.complain("volumeMounts.subPathExpr", expression, descendingErrors(expression));
}

function validatePropagation(container: Cursor, mount: Cursor): void {
  const at = "volumeMounts.mountPropagation";
  const mode = mount.text("mountPropagation");
  if (mount.has("mountPropagation")) {
    const modes = ["Bidirectional", "HostToContainer", "None"];
    if (!modes.includes(mode)) container.add(notSupported(container.at(at), mode, modes));
    if (mode === "Bidirectional" && !container.object("securityContext")?.flag("privileged")) {
      const detail = "Bidirectional mount propagation is available only to privileged containers";
      container.forbidden(at, detail);
    }
  }
  if (!mount.has("recursiveReadOnly")) return;
  const readOnlyAt = "volumeMounts.recursiveReadOnly";
  const recursive = mount.text("recursiveReadOnly");
  const words = ["Disabled", "Enabled", "IfPossible"];
  if (!words.includes(recursive)) {
    container.add(notSupported(container.at(readOnlyAt), recursive, words));
  } else if (recursive !== "Disabled") {
    if (!mount.flag("readOnly"))
      container.forbidden(readOnlyAt, "may only be specified when readOnly is true");
    if (mount.has("mountPropagation") && mode !== "None") {
      container.forbidden(readOnlyAt, "may only be specified when mountPropagation is None or not specified");
    }
  }
}

function validateDevices(devices: readonly Cursor[], mounts: readonly Cursor[], volumes: Volumes): void {
  const mountNames = valuesOf(mounts, "name");
  const mountPaths = valuesOf(mounts, "mountPath");
  const names = new Set<string>();
  const paths = new Set<string>();
  for (const device of devices) {
    const name = device.text("name");
    const path = device.text("devicePath");
    const volume = volumes.get(name);
    device.needsText("name");
    if (names.has(name)) device.invalid("name", name, "must be unique");
    if (volume === undefined) device.notFound("name", name);
    else if (!has(volume, "persistentVolumeClaim") && !has(volume, "ephemeral")) {
      const detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
      device.invalid("name", name, detail);
    }
    device.needsText("devicePath");
    if (paths.has(path)) device.invalid("devicePath", path, "must be unique");
    if (backstepErrors(path).length > 0)
      device.invalid("devicePath", path, "can not contain backsteps ('..')");
    else paths.add(path);
    if (mountNames.has(name)) device.invalid("name", name, "must not already exist in volumeMounts");
    if (mountPaths.has(path)) {
      device.invalid("devicePath", path, "must not already exist as a path in volumeMounts");
    }
    if (name !== "") names.add(name);
  }
}
