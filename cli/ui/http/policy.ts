/** What a browser may load and run for the page. */

/** `own`: what the page's scripts and styles are known by. `images`: where its pictures come from. */
export function policyOf(own: string, images: string): string {
  return [
    "default-src 'none'",
    `script-src ${own}`,
    `style-src ${own}`,
    `img-src ${images}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types lit-html",
  ].join("; ");
}
