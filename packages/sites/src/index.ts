export type { BuildOptions } from "./build.ts"
export { diskSources } from "./diskSources.ts"
export type { UnpackLimits } from "./limits.ts"
export { type SitesOptions, sites } from "./sites.ts"
