/** All chance of the sandbox comes from one seed: identities, name suffixes, and which request a fault hits. */
import type { Random } from "../kube/core/index.ts";

const suffixLetters = "bcdfghjklmnpqrstvwxz2456789";

/** A UUID of version 4. */
export function randomUid(random: Random): string {
  let digits = "";
  for (let part = 0; part < 4; part++) {
    digits += Math.floor(random() * 4294967296)
      .toString(16)
      .padStart(8, "0");
  }
  const variant = "89ab".charAt(Number.parseInt(digits.charAt(16), 16) % 4);
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-${variant}${digits.slice(17, 20)}-${digits.slice(20)}`;
}

/** The five characters that the server puts behind a generateName. */
export function nameSuffix(random: Random): string {
  let suffix = "";
  for (let at = 0; at < 5; at++) suffix += suffixLetters.charAt(Math.floor(random() * suffixLetters.length));
  return suffix;
}
