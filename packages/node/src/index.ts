export { type ProtectRoute, rateLimit, requireApiKey } from "./requireApiKey.ts"
export {
  type HandlerSource,
  type NodeHandler,
  type NodeHandlerOptions,
  toNodeHandler
} from "./toNodeHandler.ts"
