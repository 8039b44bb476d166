/** Security contexts of pods and containers. */

import { notSupported, tooLong } from "../../field_errors.ts";
import { utf8Length } from "../../go_text.ts";
import { dnsSubdomainErrors, rangeMessage } from "../../names.ts";
import type { Cursor } from "./cursor.ts";
import { descendingErrors } from "./path_rules.ts";

const MAX_ID = 2 ** 31 - 1;
const SYSCTL = "([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?";

function validateIds(context: Cursor, keys: readonly string[]): void {
  for (const key of keys) validateId(context, key, context.number(key));
}

function validateId(context: Cursor, key: string, id: number | undefined): void {
  if (id !== undefined && (id < 0 || id > MAX_ID)) context.invalid(key, id, rangeMessage(0, MAX_ID));
}

export function validatePodSecurity(spec: Cursor): void {
  const context = spec.object("securityContext");
  if (context === undefined) {
    validateProcessNamespace(spec);
    return;
  }
  validateIds(context, ["fsGroup", "runAsUser", "runAsGroup"]);
  context.list("supplementalGroups").forEach((id, index) => {
    if (typeof id === "number") validateId(context, `supplementalGroups[${index}]`, id);
  });
  validateProcessNamespace(spec);
  validateSysctls(context);
  if (context.has("fsGroupChangePolicy")) context.oneOf("fsGroupChangePolicy", ["Always", "OnRootMismatch"]);
  validateSeccomp(context.object("seccompProfile"));
  validateWindowsOptions(context.object("windowsOptions"));
  validateAppArmor(context.object("appArmorProfile"));
  if (context.has("supplementalGroupsPolicy")) context.oneOf("supplementalGroupsPolicy", ["Merge", "Strict"]);
  if (context.has("seLinuxChangePolicy")) context.oneOf("seLinuxChangePolicy", ["MountOption", "Recursive"]);
}

function validateProcessNamespace(spec: Cursor): void {
  if (!spec.flag("shareProcessNamespace") || !spec.flag("hostPID")) return;
  const detail = "ShareProcessNamespace and HostPID cannot both be enabled";
  spec.invalid("securityContext.shareProcessNamespace", true, detail);
}

function validateSysctls(context: Cursor): void {
  const names = new Set<string>();
  for (const sysctl of context.objects("sysctls")) {
    const name = sysctl.text("name");
    if (sysctl.needsText("name")) {
      if (name.length > 253 || !new RegExp(`^${SYSCTL}$`).test(name)) {
        sysctl.invalid("name", name, `must have at most 253 characters and match regex ^${SYSCTL}$`);
      } else if (names.has(name)) sysctl.duplicate("name", name);
    }
    names.add(name);
  }
}

/** `hostUsers`: false when the pod has a user namespace of its own. */
export function validateContainerSecurity(container: Cursor, hostUsers: boolean): void {
  const context = container.object("securityContext");
  if (context === undefined) return;
  validateIds(context, ["runAsUser", "runAsGroup"]);
  if (context.has("procMount")) {
    context.oneOf("procMount", ["Default", "Unmasked"]);
    if (hostUsers && context.text("procMount") === "Unmasked") {
      context.invalid("procMount", "Unmasked", "`hostUsers` must be false to use `Unmasked`");
    }
  }
  validateSeccomp(context.object("seccompProfile"));
  if (context.value["allowPrivilegeEscalation"] === false) {
    const cannot = "cannot set `allowPrivilegeEscalation` to false and";
    if (context.flag("privileged")) context.invalid("", context.value, `${cannot} \`privileged\` to true`);
    if (context.object("capabilities")?.texts("add").includes("CAP_SYS_ADMIN")) {
      context.invalid("", context.value, `${cannot} \`capabilities.Add\` CAP_SYS_ADMIN`);
    }
  }
  validateWindowsOptions(context.object("windowsOptions"));
  validateAppArmor(context.object("appArmorProfile"));
}

const profileTypes = ["Localhost", "RuntimeDefault", "Unconfined"];

function validateSeccomp(profile: Cursor | undefined): void {
  if (profile === undefined) return;
  if (profile.needsText("type", "type is required when seccompProfile is set"))
    profile.choice("type", profileTypes);
  if (profile.text("type") === "Localhost") {
    if (!profile.has("localhostProfile")) {
      profile.required("localhostProfile", "must be set when seccomp type is Localhost");
    } else profile.follows("localhostProfile", descendingErrors);
  } else if (profile.has("localhostProfile")) {
    profile.invalid("localhostProfile", profile.value, "can only be set when seccomp type is Localhost");
  }
}

function validateAppArmor(profile: Cursor | undefined): void {
  if (profile === undefined) return;
  const key = "localhostProfile";
  const local = profile.text(key);
  if (profile.needsText("type", "type is required when appArmorProfile is set"))
    profile.choice("type", profileTypes);
  if (profile.text("type") === "Localhost") {
    if (local.trim() !== local) profile.invalid(key, local, "must not be padded with whitespace");
    else if (local === "") profile.required(key, "must be set when AppArmor type is Localhost");
    if (utf8Length(local) > 4095) profile.add(tooLong(profile.at(key), 4095));
  } else if (profile.has(key) && profileTypes.includes(profile.text("type"))) {
    profile.invalid(key, local, "can only be set when AppArmor type is Localhost");
  }
}

function validateWindowsOptions(options: Cursor | undefined): void {
  if (options === undefined) return;
  if (options.has("gmsaCredentialSpecName")) options.follows("gmsaCredentialSpecName", dnsSubdomainErrors);
  if (options.has("gmsaCredentialSpec")) {
    const size = utf8Length(options.text("gmsaCredentialSpec"));
    const key = "gmsaCredentialSpec";
    if (size === 0) options.invalid(key, "", "gmsaCredentialSpec cannot be an empty string");
    else if (size > 64 * 1024)
      options.invalid(key, options.text(key), "gmsaCredentialSpec size must be under 64 KiB");
  }
  if (options.has("runAsUserName")) options.follows("runAsUserName", windowsUserErrors);
}

function windowsUserErrors(name: string): string[] {
  if (name === "") return ["runAsUserName cannot be an empty string"];
  if (/\p{Cc}/u.test(name)) return ["runAsUserName cannot contain control characters"];
  const parts = name.split("\\");
  if (parts.length > 2) return ["runAsUserName cannot contain more than one backslash"];
  const user = parts.at(-1) ?? "";
  const errors: string[] = [];
  if (parts.length === 2) {
    const domain = parts[0] ?? "";
    if (domain.length >= 256) errors.push("runAsUserName's Domain length must be under 256 characters");
    const isNetBios = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/.test(domain);
    const isDns = /^[0-9A-Za-z][-0-9A-Za-z]*(\.[0-9A-Za-z][-0-9A-Za-z]*)*$/.test(domain);
    if (!isNetBios && !isDns) {
      errors.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
    }
  }
  if (user === "") errors.push("runAsUserName's User cannot be empty");
  else if (user.length > 104)
    errors.push("runAsUserName's User length must not be longer than 104 characters");
  if (/^[. ]+$/.test(user)) errors.push("runAsUserName's User cannot contain only periods or spaces");
  if (/["/\\:;|=,+*?<>@[\]]/.test(user)) {
    errors.push(`runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`);
  }
  return errors;
}

const WINDOWS = "cannot be set for a windows pod";
const podContextOfLinux =
  `appArmorProfile seLinuxOptions seccompProfile fsGroup fsGroupChangePolicy sysctls runAsUser
  runAsGroup supplementalGroups supplementalGroupsPolicy seLinuxChangePolicy`.split(/\s+/);
const containerContextOfLinux =
  `appArmorProfile seLinuxOptions seccompProfile capabilities readOnlyRootFilesystem
  privileged allowPrivilegeEscalation procMount runAsUser runAsGroup`.split(/\s+/);

/** `spec.os` decides which half of the security contexts makes sense. */
export function validateOperatingSystem(spec: Cursor, containers: readonly Cursor[]): void {
  const os = spec.object("os");
  if (os === undefined || !os.needsText("name")) return;
  const contexts = [spec, ...containers].map((holder) => holder.object("securityContext"));
  if (os.text("name") === "linux") {
    for (const context of contexts) {
      if (context?.has("windowsOptions")) {
        context.forbidden("windowsOptions", "windows options cannot be set for a linux pod");
      }
    }
  } else if (os.text("name") === "windows") {
    for (const key of ["hostUsers", "shareProcessNamespace"]) if (spec.has(key)) spec.forbidden(key, WINDOWS);
    for (const key of ["hostPID", "hostIPC"]) if (spec.flag(key)) spec.forbidden(key, WINDOWS);
    contexts.forEach((context, index) => {
      const keys = index === 0 ? podContextOfLinux : containerContextOfLinux;
      for (const key of keys) if (context?.has(key)) context.forbidden(key, WINDOWS);
    });
  } else {
    spec.add(notSupported(spec.at("os"), os.text("name"), ["linux", "windows"]));
  }
}

/** Containers that are processes of a Windows host stand together or not at all. */
export function validateHostProcess(spec: Cursor, containers: readonly Cursor[]): void {
  const flagOf = (holder: Cursor) => {
    const value = holder.object("securityContext")?.object("windowsOptions")?.value["hostProcess"];
    return typeof value === "boolean" ? value : undefined;
  };
  const ofPod = flagOf(spec);
  let count = 0;
  for (const container of containers) {
    const own = flagOf(container);
    if (ofPod !== undefined && own !== undefined && own !== ofPod) {
      const detail = `pod hostProcess value must be identical if both are specified, was ${ofPod}`;
      container.invalid("securityContext.windowsOptions.hostProcess", own, detail);
    }
    if (own ?? ofPod) count++;
  }
  if (count === 0) return;
  if (count !== containers.length) {
    const detail =
      "If pod contains any hostProcess containers then all containers must be HostProcess containers";
    spec.invalid("", "", detail);
  }
  if (!spec.flag("hostNetwork")) {
    spec.invalid("hostNetwork", false, "hostNetwork must be true if pod contains any hostProcess containers");
  }
}
