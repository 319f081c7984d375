/**
 * `@tollgate/store/copy`: copies everything from one store into another.
 */

export { type CopyOptions, type CopyResult, copyContents } from "./copy/copyContents.ts"
export type { CopyCounts, CopyProgress } from "./copy/copySteps.ts"
export { copyStore } from "./copy/copyStore.ts"
export { StoreCopyError } from "./copy/StoreCopyError.ts"
