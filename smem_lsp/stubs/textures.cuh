// Texture Functions, Surface Functions: CUDA C++ Programming Guide (texture_indirect_functions.h,
// surface_indirect_functions.h of CUDA 13.0). The first argument is an object or, up to CUDA 11, a reference.

template <class T, class Texture> [[smem::pure]] T tex1Dfetch(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T tex1D(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T tex2D(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T tex3D(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T tex1DLayered(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T tex2DLayered(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T texCubemap(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T texCubemapLayered(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T tex2Dgather(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T tex1DLod(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T tex2DLod(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T tex3DLod(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T tex1DLayeredLod(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T tex2DLayeredLod(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T texCubemapLod(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T texCubemapLayeredLod(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T tex1DGrad(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T tex2DGrad(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T tex3DGrad(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T texCubemapGrad(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T tex1DLayeredGrad(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T tex2DLayeredGrad(Texture texture, ...);
template <class T, class Texture> [[smem::pure]] T texCubemapLayeredGrad(Texture texture, ...);

template <class T, class Surface> [[smem::surface]] T surf1Dread(Surface surface, ...);
template <class T, class Surface> [[smem::surface]] void surf1Dwrite(T value, Surface surface, ...);
template <class T, class Surface> [[smem::surface]] T surf2Dread(Surface surface, ...);
template <class T, class Surface> [[smem::surface]] void surf2Dwrite(T value, Surface surface, ...);
template <class T, class Surface> [[smem::surface]] T surf3Dread(Surface surface, ...);
template <class T, class Surface> [[smem::surface]] void surf3Dwrite(T value, Surface surface, ...);
template <class T, class Surface> [[smem::surface]] T surf1DLayeredread(Surface surface, ...);
template <class T, class Surface> [[smem::surface]] void surf1DLayeredwrite(T value, Surface surface, ...);
template <class T, class Surface> [[smem::surface]] T surf2DLayeredread(Surface surface, ...);
template <class T, class Surface> [[smem::surface]] void surf2DLayeredwrite(T value, Surface surface, ...);
template <class T, class Surface> [[smem::surface]] T surfCubemapread(Surface surface, ...);
template <class T, class Surface> [[smem::surface]] void surfCubemapwrite(T value, Surface surface, ...);
template <class T, class Surface> [[smem::surface]] T surfCubemapLayeredread(Surface surface, ...);
template <class T, class Surface> [[smem::surface]] void surfCubemapLayeredwrite(T value, Surface surface, ...);
