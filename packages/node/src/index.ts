export { type Mountable, type NodeHandler, type NodeHandlerOptions, toNodeHandler } from "./toNodeHandler.ts"
