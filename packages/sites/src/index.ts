export { diskSourceStore } from "./diskSourceStore.ts"
export type { UnpackLimits } from "./limits.ts"
export type { BuildOptions, LimitOptions, SitesOptions } from "./options.ts"
export { sites } from "./sites.ts"
