/** Licences of what a bundle holds, from what rollup really put into it. A build ends when one is missing or not permissive. */
import type { Dependency } from "rollup-plugin-license";

/** SPDX ids of licences that ask for no more than their text and notices beside the program. */
const permissive: ReadonlySet<string> = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
]);

export type Notice = Pick<Dependency, "name" | "version" | "license" | "licenseText" | "noticeText">;

/** Throws an error that names every package that may not be shipped. */
export function noticesOf(ownLicence: string, bundled: readonly Notice[]): string {
  const sorted = [...bundled].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  const problems = sorted.flatMap((notice) => {
    const { license: id, licenseText } = notice;
    if (id === null || !permissive.has(id)) return [`${nameOf(notice)}: licence ${id ?? "unknown"}`];
    return licenseText?.trim() ? [] : [`${nameOf(notice)}: no text of its licence, ${id}`];
  });
  if (problems.length > 0) {
    throw new Error(
      `packages that may not be shipped:\n${problems.join("\n")}\nReplace them, or allow a permissive licence in bundles/notices.ts.`,
    );
  }
  const parts = sorted.map((notice) => {
    const texts = [notice.licenseText, notice.noticeText].flatMap((text) => (text ? [text.trim()] : []));
    return [`${nameOf(notice)} (${notice.license})`, ...texts].join("\n\n");
  });
  return `${[`Refit (Apache-2.0)\n\n${ownLicence.trim()}`, ...parts].join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}

const nameOf = ({ name, version }: Notice): string => `${name}@${version}`;
