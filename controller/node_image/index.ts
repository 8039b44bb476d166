/** NodeImage: the list of images of one node, and what becomes of its entries. */
export { mutateNodeImage, validateNodeImage } from "./admit.ts";
export * from "./model.ts";
export { nodeImageShell } from "./reconcile.ts";
