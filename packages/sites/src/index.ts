export type { BuildOptions } from "./build.ts"
export { diskSourceStore } from "./diskSourceStore.ts"
export type { UnpackLimits } from "./limits.ts"
export { type SitesOptions, sites } from "./sites.ts"
