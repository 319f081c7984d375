/**
 * `tollgate/copy`: copies everything from one store into another.
 */
export {
  type CopyCounts,
  type CopyOptions,
  type CopyProgress,
  type CopyResult,
  copyStore,
  StoreCopyError
} from "@tollgate/store/copy"
